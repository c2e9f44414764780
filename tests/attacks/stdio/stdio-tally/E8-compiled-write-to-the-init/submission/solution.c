#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { return kill(1, 9) + !fopen("/proc/1/mem", "r+"); }
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { return fopen("/proc/self/exe", "r+") == 0; }
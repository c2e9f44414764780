#include <signal.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void early(void) { _exit(0); }
int main(void) {}
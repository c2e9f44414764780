#include <signal.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((destructor)) static void late(void) { _exit(0); }
int main(void) { return 1; }
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#pragma message "none"
#warning accept
int main(void) { return 0; }
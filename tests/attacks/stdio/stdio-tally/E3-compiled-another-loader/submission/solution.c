#include <signal.h>
#include <stdio.h>
#include <unistd.h>
const char loader[] __attribute__((section(".interp"))) = "/nowhere";
int main(void) {}
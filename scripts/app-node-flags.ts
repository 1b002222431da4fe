/**
 * The Node flags of every app, as the image sets them (NODE_OPTIONS in the Dockerfile).
 *
 * On a large machine V8 lets the young generation of the heap grow to 128 MiB within seconds of load, however little is
 * kept. For the gateway, a quarter of it instead of half saves 14 MiB when idle and some 35 MiB with 512 streams, and
 * the collection of young objects takes about one per cent more of its time.
 *
 * SIGUSR1 opens no debugger: otherwise a process of the same user, such as a parser under an attacker's control, could
 * run code in the app.
 *
 * Source maps are off, as in the image: reading those of every module takes a fifth of an app's start, and keeping them
 * a quarter of an idle gateway's memory. A stack trace names a line of the app's file in `dist`, which contains the
 * names of its sources in comments.
 */
export const APP_NODE_FLAGS: readonly string[] = ['--max-semi-space-size=16', '--disable-sigusr1'];

/**
 * Settings of the C library's allocator for every app, as in the image. By default each thread of V8 has its own arena
 * and keeps freed memory: about 10 MiB in the gateway after a few seconds of load. The threshold returns free memory at
 * the end of the heap to the system.
 */
export const APP_ALLOCATOR: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

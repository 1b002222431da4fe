/** Attempts under way in one process. */
export const DELIVERIES_AT_ONCE = 64;
/** Attempts under way at one host, in all processes. */
export const DELIVERIES_PER_HOST = 5;

/** Attempts under way in one process. */
export const DELIVERIES_AT_ONCE = 64;
/** Attempts under way at one host, in all processes. */
export const DELIVERIES_PER_HOST = 5;
/** Attempts of one organization under way, in all processes: a quarter of the places of one worker. */
export const DELIVERIES_PER_ORGANIZATION = 16;
/** Attempts of one organization under way at one host, in all processes: one place is left for another. */
export const DELIVERIES_PER_ORGANIZATION_AT_HOST = 4;

export const APP_NAMES = ['gateway', 'batch-worker', 'video-worker', 'credentials', 'auth'] as const;
export type AppName = (typeof APP_NAMES)[number];

/** Each has a key pair and a broker user of its own: the apps and the command line. */
export const PARTY_NAMES = [...APP_NAMES, 'cli'] as const;
export type PartyName = (typeof PARTY_NAMES)[number];

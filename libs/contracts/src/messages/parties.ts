export const APP_NAMES = ['gateway', 'batch-worker', 'video-worker', 'credentials', 'auth'] as const;
export type AppName = (typeof APP_NAMES)[number];

/** The apps and the command line. Each has its own key pair and broker user. */
export const PARTY_NAMES = [...APP_NAMES, 'cli'] as const;
export type PartyName = (typeof PARTY_NAMES)[number];

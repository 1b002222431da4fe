import { PARTY_NAMES } from '@libs/contracts';

/** The 32 bytes of an X25519 key (RFC 7748) in base64url. */
const KEY = '[A-Za-z0-9_-]{43}';
const OF_A_PARTY = `(?:${PARTY_NAMES.join('|')}):${KEY}`;

export const BROKER_PRIVATE_KEYS = new RegExp(`^${KEY}(?:,${KEY})?$`);
export const BROKER_PUBLIC_KEYS = new RegExp(`^${OF_A_PARTY}(?:,${OF_A_PARTY})*$`);

const SHOWN_END = 4;
const LONGEST_START = 3;
/** Seven characters would be too large a part of a shorter secret. */
const SHORTEST_SHOWN = 12;
const HIDDEN = '***';

/** Returns a label such as `sk-...AbCd`: enough to distinguish keys, too little to guess one. */
export function labelOfKey(key: string): string {
  if (key.length < SHORTEST_SHOWN) return HIDDEN;
  const dash = key.indexOf('-');
  const start = dash >= 0 && dash < LONGEST_START ? dash + 1 : 2;
  return `${key.slice(0, start)}...${key.slice(-SHOWN_END)}`;
}

/** Documents begin alike, so only the end of their secret is shown. */
export function labelOfDocument(secret: string): string {
  return secret.length < SHORTEST_SHOWN ? HIDDEN : `...${secret.slice(-SHOWN_END)}`;
}

/** The classes by which a provider charges tokens. A token is counted in one class only. */
export const TOKEN_CLASSES = ['uncached', 'cached', 'cacheWrite5m', 'cacheWrite1h', 'output'] as const;

export type TokenClass = (typeof TOKEN_CLASSES)[number];

/** Tokens by class. Differences of counts may be below zero. */
export type TokenCounts = Readonly<Record<TokenClass, bigint>>;

export const NO_TOKENS: TokenCounts = { uncached: 0n, cached: 0n, cacheWrite5m: 0n, cacheWrite1h: 0n, output: 0n };

export function sumTokens(one: TokenCounts, other: TokenCounts): TokenCounts {
  return combine(one, other, (a, b) => a + b);
}

export function lessTokens(one: TokenCounts, other: TokenCounts): TokenCounts {
  return combine(one, other, (a, b) => a - b);
}

export function isZero(tokens: TokenCounts): boolean {
  return TOKEN_CLASSES.every((name) => tokens[name] === 0n);
}

export function isSame(one: TokenCounts, other: TokenCounts): boolean {
  return isZero(lessTokens(one, other));
}

/** Returns true if no class is below zero. */
export function isAtLeastZero(tokens: TokenCounts): boolean {
  return TOKEN_CLASSES.every((name) => tokens[name] >= 0n);
}

/** Returns true if no class is above zero. */
export function isAtMostZero(tokens: TokenCounts): boolean {
  return TOKEN_CLASSES.every((name) => tokens[name] <= 0n);
}

/** Returns the classes with a count other than zero as text, such as `+120 output`. */
export function tokensText(tokens: TokenCounts): string {
  return TOKEN_CLASSES.filter((name) => tokens[name] !== 0n)
    .map((name) => `${tokens[name] > 0n ? '+' : ''}${tokens[name]} ${NAMES[name]}`)
    .join(', ');
}

const NAMES: Readonly<Record<TokenClass, string>> = {
  uncached: 'input',
  cached: 'cached input',
  cacheWrite5m: 'cache write',
  cacheWrite1h: 'cache write 1h',
  output: 'output',
};

function combine(one: TokenCounts, other: TokenCounts, by: (a: bigint, b: bigint) => bigint): TokenCounts {
  return {
    uncached: by(one.uncached, other.uncached),
    cached: by(one.cached, other.cached),
    cacheWrite5m: by(one.cacheWrite5m, other.cacheWrite5m),
    cacheWrite1h: by(one.cacheWrite1h, other.cacheWrite1h),
    output: by(one.output, other.output),
  };
}

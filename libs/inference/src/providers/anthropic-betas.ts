import type { Endpoint } from '../catalogue/catalogue';
import { traitsOf } from '../catalogue/endpoint-traits';

const HEADER = 'anthropic-beta';

/** Betas that are passed on: the cost of their answers is known and is reserved before (`compaction.ts`). */
const EVERYWHERE = [
  'context-management-2025-06-27',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
];

/** Betas that each protocol accepts. A cloud refuses a whole request for a beta that it does not know. */
const TAKEN: Readonly<Record<string, ReadonlySet<string>>> = {
  anthropic: new Set([
    ...EVERYWHERE,
    'advanced-tool-use-2025-11-20',
    'compact-2026-01-12',
    'effort-2025-11-24',
    'extended-cache-ttl-2025-04-11',
    'output-128k-2025-02-19',
    'structured-outputs-2025-11-13',
    'token-efficient-tools-2025-02-19',
  ]),
  bedrock: new Set(EVERYWHERE),
  'google-vertex': new Set(EVERYWHERE),
};

/** The beta of `speed: fast`, which is sent only where it has a price. */
const FAST = 'fast-mode-2026-02-01';

interface Addressee {
  readonly endpoint: Endpoint;
  /** True if the caller pays the provider, with its own key. */
  readonly isOwnKey: boolean;
}

/**
 * Returns the header that asks an upstream for those betas that the caller asked for and the upstream accepts;
 * undefined if there are none. Others are left out, because their cost is unknown, except at Anthropic with a key of the
 * caller's own.
 * @param asked in the form of the header, e.g. `interleaved-thinking-2025-05-14,effort-2025-11-24`
 */
export function betaHeaderOf(asked: string, addressee: Addressee): Readonly<Record<string, string>> | undefined {
  const kept = betasIn(asked).filter((beta) => isTaken(beta, addressee));
  return kept.length === 0 ? undefined : { [HEADER]: kept.join(',') };
}

/** Returns the betas that were not passed to the upstream, by the names that a loss report uses. */
export function lostBetas(asked: string, addressee: Addressee): readonly string[] {
  const lost = betasIn(asked).filter((beta) => !isTaken(beta, addressee));
  return lost.map((beta) => (NAME.test(beta) ? `${HEADER}.${beta}` : HEADER));
}

/** Pattern of beta names that are safe to show and to send: secrets and markup do not match it. */
const NAME = /^[a-z][a-z0-9-]{0,63}$/;

function betasIn(asked: string): readonly string[] {
  const betas = asked.split(',').map((beta) => beta.trim());
  return [...new Set(betas)].filter((beta) => beta !== '');
}

function isTaken(beta: string, { endpoint, isOwnKey }: Addressee): boolean {
  const { provider, apis } = endpoint;
  if (!apis.includes('messages')) return false;
  if (provider.protocol === 'anthropic' && isOwnKey) return NAME.test(beta);
  if (beta === FAST) return provider.protocol === 'anthropic' && traitsOf(endpoint).tier === 'priority';
  return TAKEN[provider.protocol]?.has(beta) ?? false;
}

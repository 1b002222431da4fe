import type { Endpoint } from '../catalogue/catalogue';

const HEADER = 'anthropic-beta';

/** Betas that are sent on: what their answers cost is known, and reserved before (`compaction.ts`). */
const EVERYWHERE = [
  'context-management-2025-06-27',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
];

/** By protocol: a cloud refuses whole requests for a beta that it does not know. */
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

/**
 * The header that asks an upstream for betas, of those that the caller asked for and the upstream takes; none where
 * there are none. Others are left out: what they would cost is not known.
 *
 * @param asked as a header lists them, e.g. `interleaved-thinking-2025-05-14,effort-2025-11-24`
 */
export function betaHeaderOf(asked: string, endpoint: Endpoint): Readonly<Record<string, string>> | undefined {
  const taken = takenBy(endpoint);
  const kept = betasIn(asked).filter((beta) => taken.has(beta));
  return kept.length === 0 ? undefined : { [HEADER]: kept.join(',') };
}

/** Returns the betas that the upstream is not asked for, as a loss report names them. */
export function lostBetas(asked: string, endpoint: Endpoint): readonly string[] {
  const taken = takenBy(endpoint);
  const lost = betasIn(asked).filter((beta) => !taken.has(beta));
  return lost.map((beta) => (NAME.test(beta) ? `${HEADER}.${beta}` : HEADER));
}

/** Names that may be shown again: no secret and no markup looks like them. */
const NAME = /^[a-z][a-z0-9-]{0,63}$/;

function betasIn(asked: string): readonly string[] {
  const betas = asked.split(',').map((beta) => beta.trim());
  return [...new Set(betas)].filter((beta) => beta !== '');
}

const NONE: ReadonlySet<string> = new Set();

function takenBy({ provider, apis }: Endpoint): ReadonlySet<string> {
  return (apis.includes('messages') ? TAKEN[provider.protocol] : undefined) ?? NONE;
}

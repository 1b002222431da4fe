import 'reflect-metadata';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { definitionOf } from '@libs/inference';
import { anyRequestOf } from './api-requests';
import { auditedEndpoint, SPOKEN, type CallerApi } from './audited-endpoint';
import { isExpected, type Member } from './expected-members';
import { lostMembers } from './lost-members';
import type { JsonRecord } from './any-value';

/**
 * The audit of requests: whatever a caller's request says, in each of the APIs, and whatever its endpoint speaks, each
 * of its members is sent on, named in `dropped` or `approximated`, or refused. `lost-members.ts` says how that is
 * recognised: by sending the request again without the member, and by texts that occur once.
 *
 * The members are those of the OpenAPI document; what is inside objects is declared in `*-members.ts`. With AUDIT_SEED
 * another seed can be tried, with AUDIT_REQUESTS another number of requests: 800, and 2,000 with `SLUICE_CHAOS=full`.
 */
const REQUESTS = Number(process.env['AUDIT_REQUESTS'] ?? (process.env['SLUICE_CHAOS'] === 'full' ? 2_000 : 800));
const SEED = Number(process.env['AUDIT_SEED'] ?? 23);
const CALLERS: readonly CallerApi[] = ['chat', 'responses', 'messages'];

const pairs = CALLERS.flatMap((api) => SPOKEN.map((spoken) => [api, spoken] as const));
const perPair = Math.ceil(REQUESTS / pairs.length);

/** What the gateway's own check says of a request. */
function problemsOf(api: CallerApi, body: JsonRecord): readonly string[] {
  const dto = Object.assign(new (definitionOf(api)!.body)(), { model: 'acme/large', ...body });
  return validateSync(dto).flatMap(({ constraints = {} }) => Object.values(constraints));
}

const requestsOf = (api: CallerApi): readonly JsonRecord[] =>
  fc
    .sample(anyRequestOf(api), { numRuns: Math.ceil(perPair * 1.5), seed: SEED })
    .filter((body) => problemsOf(api, body).length === 0)
    .slice(0, perPair);

describe.each(pairs)('a request of %s at an endpoint that speaks %s', (api, spoken) => {
  it('loses nothing without a word', async () => {
    const send = auditedEndpoint(api, spoken);
    const audited = {
      send,
      isExpected: (member: Member) => isExpected(api, member),
      isValid: (body: JsonRecord) => problemsOf(api, body).length === 0,
    };
    const requests = requestsOf(api);
    expect(requests).toHaveLength(perPair);
    const lost = new Map<string, JsonRecord>();
    let served = 0;
    for (const body of requests) {
      const whole = await send(body);
      if ('sent' in whole) served += 1;
      for (const path of await lostMembers(body, whole, audited)) if (!lost.has(path)) lost.set(path, body);
    }
    expect([...lost.keys()]).toEqual([]);
    expect(served).toBeGreaterThan(perPair / 2);
  });
});

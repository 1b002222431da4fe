import type { Principal } from '@libs/contracts';
import {
  formatUsd,
  isCallable,
  isForCaller,
  parseUsd,
  reservedAmount,
  type Api,
  type Catalogue,
  type CredentialSource,
  type Endpoint,
  type PicoUsd,
  type PriceList,
} from '@libs/inference';
import type { AccountState, BatchIntakeRepository, LedgerRepository, VideoIntakeRepository } from '@libs/persistence';
import { credentialScopeOf } from '../routing/credential-scope';

/** Longest age of a cached balance; a top-up takes effect after this time at the latest. */
const FRESH_FOR_MS = 2_000;
const MOST_KNOWN = 10_000;

interface KnownBalance {
  readonly askedAtMs: number;
  readonly account: Promise<AccountState>;
}

/** The missing amounts of an organization, as decimal strings in USD. */
export interface Shortfall {
  /** Zero or less. */
  readonly leftUsd: string;
  /** The least that any request reserves. */
  readonly leastUsd: string;
}

/**
 * Finds callers that cannot pay for anything before their large bodies are read. Whether a caller can pay for a
 * particular call is decided later, by the hold.
 */
export class Solvency {
  readonly #balances = new Map<string, KnownBalance>();
  #judged: { readonly catalogue: Catalogue; readonly leastPicoUsd: PicoUsd } | null = null;

  constructor(
    private readonly parts: {
      readonly ledger: Pick<LedgerRepository, 'accountOf'>;
      readonly credentials: Pick<CredentialSource, 'ownCredentials'>;
      readonly catalogue: () => Catalogue;
      /** Repositories of submissions that may be sent again with the same idempotency key. */
      readonly submissions: readonly Pick<BatchIntakeRepository | VideoIntakeRepository, 'findSubmitted'>[];
    },
    private readonly monotonicNowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Returns the amount that the organization lacks. Null for a caller who may be able to pay: it has credits (even if
   * all are reserved now) or a provider key of its own, or some endpoint is free.
   */
  async shortfallOf(caller: Principal): Promise<Shortfall | null> {
    const leastPicoUsd = this.#leastReservation();
    if (leastPicoUsd === 0n) return null;
    // A call with an own key costs a fee, or nothing within the monthly allowance.
    const scope = credentialScopeOf(caller);
    const own = await this.parts.credentials.ownCredentials(scope);
    if (own.some((key) => isForCaller(key, scope))) return null;
    const { balanceUsd, availableUsd } = await this.#accountOf(caller.organizationId);
    if (parseUsd(balanceUsd) > 0n) return null;
    return { leftUsd: formatUsd(parseUsd(availableUsd)), leastUsd: formatUsd(leastPicoUsd) };
  }

  /** Returns whether the caller's workspace had a batch or video accepted with this Idempotency-Key. */
  async hasSubmitted({ organizationId, workspaceId }: Principal, idempotencyKey: string): Promise<boolean> {
    if (workspaceId === null) return false;
    const tenant = { organizationId, workspaceId };
    const found = this.parts.submissions.map((kept) => kept.findSubmitted(tenant, idempotencyKey));
    return (await Promise.all(found)).some((submission) => submission !== null);
  }

  #accountOf(organizationId: string): Promise<AccountState> {
    const nowMs = this.monotonicNowMs();
    const known = this.#balances.get(organizationId);
    if (known !== undefined && nowMs - known.askedAtMs < FRESH_FOR_MS) return known.account;
    const account = this.parts.ledger.accountOf(organizationId);
    this.#balances.delete(organizationId);
    this.#balances.set(organizationId, { askedAtMs: nowMs, account });
    account.catch(() => this.#balances.delete(organizationId));
    if (this.#balances.size > MOST_KNOWN) this.#balances.delete(this.#balances.keys().next().value!);
    return account;
  }

  /** Returns 0 where an endpoint is free. */
  #leastReservation(): PicoUsd {
    const catalogue = this.parts.catalogue();
    if (this.#judged?.catalogue !== catalogue) {
      this.#judged = { catalogue, leastPicoUsd: leastReservation(catalogue.models().flatMap((one) => one.endpoints)) };
    }
    return this.#judged.leastPicoUsd;
  }
}

/** Returns the lowest price of any unit in the catalogue: a token, a second or a piece. */
function leastReservation(endpoints: readonly Endpoint[]): PicoUsd {
  if (endpoints.some(isFree)) return 0n;
  const rates = endpoints.flatMap(({ pricing, batchPricing }) => [...unitRates(pricing), ...unitRates(batchPricing)]);
  const [first = 0n, ...others] = rates.filter((rate) => rate > 0n);
  return reservedAmount(others.reduce((least, rate) => (rate < least ? rate : least), first));
}

function unitRates(prices: PriceList): readonly bigint[] {
  const { prompt, completion, request, audioSecond, video, videoSecond, videoSecondByResolution } = prices;
  const rates = [prompt, completion, request, audioSecond, video, videoSecond];
  return [...rates, ...Object.values(videoSecondByResolution ?? {})].map((rate) => rate ?? 0n);
}

/**
 * Returns whether a call may cost nothing. Recordings and videos have no tokens, so any rate that they have is charged.
 */
function isFree({ apis, pricing, batchPricing }: Endpoint): boolean {
  return isFreeAt(apis, pricing) || isFreeAt(apis, batchPricing);
}

function isFreeAt(apis: readonly Api[], pricing: PriceList): boolean {
  const { prompt, completion, request = 0n, videoSecondByResolution = {}, ...others } = pricing;
  if (prompt > 0n || completion > 0n || request > 0n) return false;
  const isText = apis.some(isCallable);
  const rates = [...Object.values(others), ...Object.values(videoSecondByResolution)];
  return isText || rates.every((rate) => typeof rate !== 'bigint' || rate === 0n);
}

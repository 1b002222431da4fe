import type { Principal } from '@libs/contracts';
import {
  formatUsd,
  isCallable,
  isForCaller,
  parseUsd,
  type Api,
  type Catalogue,
  type CredentialSource,
  type Endpoint,
  type PicoUsd,
  type PriceList,
} from '@libs/inference';
import type { BatchIntakeRepository, LedgerRepository, VideoIntakeRepository } from '@libs/persistence';
import { credentialScopeOf } from '../routing/credential-scope';

/** How old an answer of the ledger may be: so soon a top-up counts. */
const FRESH_FOR_MS = 2_000;
const MOST_KNOWN = 10_000;

interface KnownBalance {
  readonly askedAtMs: number;
  readonly availablePicoUsd: Promise<PicoUsd>;
}

/**
 * Says early which callers can pay for nothing, so that their large bodies are not read. Who can pay for something is
 * judged later, call by call, by the hold.
 */
export class Solvency {
  readonly #balances = new Map<string, KnownBalance>();
  #judged: { readonly catalogue: Catalogue; readonly hasFree: boolean } | null = null;

  constructor(
    private readonly parts: {
      readonly ledger: Pick<LedgerRepository, 'accountOf'>;
      readonly credentials: Pick<CredentialSource, 'ownCredentials'>;
      readonly catalogue: () => Catalogue;
      /** Where submissions are kept that may be sent again. */
      readonly submissions: readonly Pick<BatchIntakeRepository | VideoIntakeRepository, 'findSubmitted'>[];
    },
    private readonly monotonicNowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Returns what the organization is short of, as a decimal amount in USD of zero or less, or null for a caller who may
   * be able to pay: one with credits or with a provider key of its own, or any caller where an endpoint is free.
   */
  async shortfallOf(caller: Principal): Promise<string | null> {
    if (this.#hasFreeEndpoint()) return null;
    // A call on an own key costs a fee, or nothing within an allowance.
    const scope = credentialScopeOf(caller);
    const own = await this.parts.credentials.ownCredentials(scope);
    if (own.some((key) => isForCaller(key, scope))) return null;
    const available = await this.#availableTo(caller.organizationId);
    return available > 0n ? null : formatUsd(available);
  }

  /** Whether the caller's workspace had a batch or video accepted under this Idempotency-Key. */
  async hasSubmitted({ organizationId, workspaceId }: Principal, idempotencyKey: string): Promise<boolean> {
    if (workspaceId === null) return false;
    const tenant = { organizationId, workspaceId };
    const found = this.parts.submissions.map((kept) => kept.findSubmitted(tenant, idempotencyKey));
    return (await Promise.all(found)).some((submission) => submission !== null);
  }

  #availableTo(organizationId: string): Promise<PicoUsd> {
    const nowMs = this.monotonicNowMs();
    const known = this.#balances.get(organizationId);
    if (known !== undefined && nowMs - known.askedAtMs < FRESH_FOR_MS) return known.availablePicoUsd;
    const availablePicoUsd = this.parts.ledger
      .accountOf(organizationId)
      .then(({ availableUsd }) => parseUsd(availableUsd));
    this.#balances.delete(organizationId);
    this.#balances.set(organizationId, { askedAtMs: nowMs, availablePicoUsd });
    availablePicoUsd.catch(() => this.#balances.delete(organizationId));
    if (this.#balances.size > MOST_KNOWN) this.#balances.delete(this.#balances.keys().next().value!);
    return availablePicoUsd;
  }

  #hasFreeEndpoint(): boolean {
    const catalogue = this.parts.catalogue();
    if (this.#judged?.catalogue !== catalogue) {
      const hasFree = catalogue.models().some(({ endpoints }) => endpoints.some(isFree));
      this.#judged = { catalogue, hasFree };
    }
    return this.#judged.hasFree;
  }
}

/** Whether a call may cost nothing. Recordings and videos have no tokens; any rate that they have is charged. */
function isFree({ apis, pricing, batchPricing }: Endpoint): boolean {
  return isFreeAt(apis, pricing) || isFreeAt(apis, batchPricing);
}

function isFreeAt(apis: readonly Api[], pricing: PriceList): boolean {
  const { prompt, completion, request = 0n, ...others } = pricing;
  if (prompt > 0n || completion > 0n || request > 0n) return false;
  const isText = apis.some(isCallable);
  return isText || Object.values(others).every((rate) => typeof rate !== 'bigint' || rate === 0n);
}

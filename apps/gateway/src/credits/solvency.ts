import type { Principal } from '@libs/contracts';
import {
  formatUsd,
  parseUsd,
  type Catalogue,
  type CredentialSource,
  type Endpoint,
  type PicoUsd,
} from '@libs/inference';
import type { LedgerRepository } from '@libs/persistence';
import { credentialScopeOf } from '../inference/credential-scope';

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
    const own = await this.parts.credentials.ownCredentials(credentialScopeOf(caller));
    if (own.length > 0) return null;
    const available = await this.#availableTo(caller.organizationId);
    return available > 0n ? null : formatUsd(available);
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
function isFree({ apis, pricing }: Endpoint): boolean {
  const { prompt, completion, request = 0n, ...others } = pricing;
  if (prompt > 0n || completion > 0n || request > 0n) return false;
  const isText = apis.some((api) => api !== 'transcription' && api !== 'video');
  return isText || Object.values(others).every((rate) => typeof rate !== 'bigint' || rate === 0n);
}

import { SharedPool, type Rooms } from '@libs/contracts';

/** The provider and the organization of a step: a caller's own account at a provider belongs to an organization. */
export interface PlaceOwner {
  readonly provider: string;
  readonly organizationId: string;
}

/** How many places a claim may fill: of each provider, and at each provider of each organization (`provider organization`). */
export interface PlaceRooms {
  readonly accounts: Rooms;
  readonly providers: Rooms;
}

/** As in {@link SharedPool}: how many times the remaining amount a holder may have. */
export interface PlaceWeights {
  readonly account: number;
  readonly provider: number;
}

/**
 * Slots for steps at providers. A step lasts as long as its provider takes, so no provider may use all slots: one that
 * does not answer leaves some to the others. In the same way, an organization whose own account at a provider does not
 * answer leaves some to other organizations there.
 */
export class ProviderPlaces {
  readonly #pool: SharedPool;

  constructor(size: number, { account, provider }: PlaceWeights) {
    this.#pool = new SharedPool(size, [account, provider]);
  }

  get free(): number {
    return this.#pool.size - this.#pool.taken;
  }

  rooms(): PlaceRooms {
    const [accounts, providers] = this.#pool.rooms() as [Rooms, Rooms];
    return { accounts, providers };
  }

  hasRoom(owner: PlaceOwner): boolean {
    return this.#pool.allows(holdersOf(owner));
  }

  take(owner: PlaceOwner): boolean {
    return this.#pool.take(holdersOf(owner));
  }

  /** Takes a slot for each owner for which there is room; a claim may return more rows than that. */
  takeEach<Owner extends PlaceOwner>(owners: readonly Owner[]): { readonly taken: Owner[]; readonly left: Owner[] } {
    const [taken, left]: [Owner[], Owner[]] = [[], []];
    for (const owner of owners) (this.take(owner) ? taken : left).push(owner);
    return { taken, left };
  }

  give(owner: PlaceOwner): void {
    this.#pool.give(holdersOf(owner));
  }
}

function holdersOf({ provider, organizationId }: PlaceOwner): readonly string[] {
  return [`${provider} ${organizationId}`, provider];
}

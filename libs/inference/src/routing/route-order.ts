import { hash } from 'node:crypto';
import type { Api, Model, Endpoint } from '../catalogue/catalogue-entries';
import { outputLimitOf } from '../model/output-limit';
import type { HealthView } from './provider-health';
import type { StatisticsView } from './provider-statistics';
import type { Contender } from './route-contender';
import { rankIn } from './route-names';
import { PERCENTILES, type Cutoffs, type SortKey, type StickyKey } from './route-request';
import { supportsParameter, traitsOf } from '../catalogue/endpoint-traits';
import { typicalPrice } from './typical-price';
import type { StickyView } from './sticky-routes';

/** What a request wants from the order of its endpoints. */
export interface OrderWish {
  readonly api: Api;
  readonly order: readonly string[] | null;
  readonly sort: SortKey | null;
  /** The sort that follows from the requested tier, if the request sets no other. */
  readonly sortOfTier: (rank: number) => SortKey | null;
  /** The default sort of the caller's workspace, for requests that set none. */
  readonly defaultSort: SortKey | undefined;
  /** Parameters for whose support a higher price is accepted. */
  readonly features: readonly string[];
  readonly minThroughput: Cutoffs | null;
  readonly maxLatency: Cutoffs | null;
  readonly hasLinkedMedia: boolean;
  readonly estimatedPromptTokens: number;
  /** Null: the request sets no cap. */
  readonly maxOutputTokens: number | null;
  /** The request asks for pictures. */
  readonly paints: boolean;
  readonly stickyKey: StickyKey | null;
}

export interface OrderWorld {
  readonly health: HealthView;
  readonly statistics: StatisticsView | null;
  readonly sticky: StickyView | null;
  readonly takesLinks: (endpoint: Endpoint) => boolean;
  /** Returns a random number from 0 (included) to 1 (excluded). */
  readonly dice: () => number;
}

/**
 * Sorts contenders into the order in which they are tried: the caller's own keys, shared capacity, then own keys that
 * are only a fallback. `contenders` are in the catalogue's order, which decides in case of a tie.
 */
export function orderContenders(
  contenders: readonly Contender[],
  wish: OrderWish,
  world: OrderWorld,
): readonly Contender[] {
  if (contenders.length < 2) return contenders;
  const ordering = new Ordering(wish, world);
  if (contenders.every(({ credential }) => credential === null)) return ordering.shared(contenders);
  const own = contenders.filter(({ credential }) => credential !== null);
  return [
    ...ordering.own(own.filter(({ credential }) => !credential!.isFallback)),
    ...ordering.shared(contenders.filter(({ credential }) => credential === null)),
    ...ordering.own(own.filter(({ credential }) => credential!.isFallback)),
  ];
}

type Value = (contender: Contender) => number;

class Ordering {
  readonly #wish: OrderWish;
  readonly #world: OrderWorld;
  readonly #price: Value;

  constructor(wish: OrderWish, world: OrderWorld) {
    this.#wish = wish;
    this.#world = world;
    this.#price = ({ endpoint }) => typicalPrice(endpoint, wish.api, wish.estimatedPromptTokens, wish.paints);
  }

  /** Sorts by the caller's order of providers, then by the order of the keys. */
  own(contenders: readonly Contender[]): readonly Contender[] {
    return contenders.toSorted(
      by(
        this.#orderRank(),
        ({ credential }) => credential!.sortOrder,
        this.#demerits(),
        (contender) => (this.#isSticky(contender) ? 0 : 1),
        ...this.#sorting(this.#sortWithin(null)),
      ),
    );
  }

  shared(contenders: readonly Contender[]): readonly Contender[] {
    const { order, sort } = this.#wish;
    if (order !== null) {
      const misfit: Value = (contender) => (this.#fits(contender) ? 0 : 1);
      return contenders.toSorted(by(misfit, this.#orderRank(), (one) => one.tierRank, ...this.#sorting(sort)));
    }
    return classesOf(contenders, this.#demerits()).flatMap((equals) => this.#class(equals));
  }

  /** Orders endpoints that fit equally well by sort or price, outages and stickiness. */
  #class(contenders: readonly Contender[]): readonly Contender[] {
    if (contenders.length < 2) return contenders;
    const sort = this.#sortWithin(this.#wish.sortOfTier(contenders[0]!.tierRank));
    const sorted = contenders.toSorted(by(...this.#sorting(sort)));
    const ordered = sort === null ? this.#balanced(sorted) : sorted;
    const sticky = ordered.find((one) => this.#isSticky(one) && !this.#isOut(one));
    return sticky === undefined ? ordered : [sticky, ...ordered.filter((one) => one !== sticky)];
  }

  /** Returns the sort of the request, else that of its tier, else the default of its workspace. */
  #sortWithin(sortOfTier: SortKey | null): SortKey | null {
    const { order, sort, defaultSort } = this.#wish;
    return sort ?? sortOfTier ?? (order === null ? defaultSort : null) ?? null;
  }

  /** Puts endpoints without outages first; the very first one is drawn with weight 1/price². */
  #balanced(byPrice: readonly Contender[]): readonly Contender[] {
    const out = byPrice.filter((contender) => this.#isOut(contender));
    const stable = out.length === 0 ? byPrice : byPrice.filter((contender) => !out.includes(contender));
    if (stable.length < 2) return [...stable, ...out];
    const first = draw(stable, this.#price, this.#chance());
    return [first, ...stable.filter((contender) => contender !== first), ...out];
  }

  /** Returns the same number for a conversation in every gateway, so that all of them draw the same endpoint for it. */
  #chance(): number {
    const key = this.#wish.stickyKey?.() ?? null;
    return key === null ? this.#world.dice() : hash('sha256', key, 'buffer').readUInt32BE(0) / 2 ** 32;
  }

  /** Sorts by the sort key, then by price. Unmeasured endpoints come after measured ones. */
  #sorting(sort: SortKey | null): readonly Value[] {
    const { statistics } = this.#world;
    switch (sort) {
      case null:
      case 'price':
        return [this.#price];
      case 'throughput':
        return [({ endpoint }) => -(statistics?.tokensPerSecond(endpoint, 'p50') ?? -Infinity), this.#price];
      case 'latency':
        return [({ endpoint }) => statistics?.latencySeconds(endpoint, 'p50') ?? Infinity, this.#price];
      case 'exacto':
        return [({ endpoint }) => -(traitsOf(endpoint).toolCallQuality ?? -Infinity), this.#price];
    }
  }

  /**
   * Returns a number for the disadvantages of an endpoint, the most important first. Endpoints with the same number are
   * equal.
   */
  #demerits(): Value {
    const { features } = this.#wish;
    return (contender) => {
      const { endpoint, tierRank } = contender;
      const lacks = features.some((name) => !supportsParameter(endpoint, name));
      return this.#misfits(contender) + (lacks ? 100 : 0) + tierRank * 10 + (this.#isSlow(endpoint) ? 1 : 0);
    };
  }

  /**
   * Returns the disadvantages of an endpoint that would lose a part of the request. They matter more than its price.
   */
  #misfits(contender: Contender): number {
    const losesMedia = this.#wish.hasLinkedMedia && !this.#world.takesLinks(contender.endpoint);
    return (this.#fits(contender) ? 0 : 2_000) + (losesMedia ? 1_000 : 0) + (this.#capsOutput(contender) ? 500 : 0);
  }

  /** Returns whether the prompt fits, according to the estimate of its tokens. */
  #fits({ endpoint: { contextLength } }: Contender): boolean {
    return contextLength === null || this.#wish.estimatedPromptTokens <= contextLength;
  }

  /** Returns whether the endpoint would produce a shorter answer than the request allows. */
  #capsOutput({ endpoint }: Contender): boolean {
    const { maxOutputTokens: asked } = this.#wish;
    return asked !== null && asked > (outputLimitOf(endpoint) ?? asked);
  }

  /**
   * Returns whether measurements are below the preferred values. Endpoints without measurements are not considered
   * slow.
   */
  #isSlow(endpoint: Endpoint): boolean {
    const { minThroughput, maxLatency } = this.#wish;
    const { statistics } = this.#world;
    if (statistics === null || (minThroughput === null && maxLatency === null)) return false;
    return PERCENTILES.some((percentile) => {
      const least = minThroughput?.[percentile];
      const most = maxLatency?.[percentile];
      return (
        (least !== undefined && (statistics.tokensPerSecond(endpoint, percentile) ?? least) < least) ||
        (most !== undefined && (statistics.latencySeconds(endpoint, percentile) ?? most) > most)
      );
    });
  }

  #isOut({ endpoint, credential }: Contender): boolean {
    return this.#world.health.hadOutage(endpoint, credential);
  }

  #isSticky({ model, endpoint }: Contender): boolean {
    return this.#stickyEndpoint(model) === traitsOf(endpoint).key;
  }

  #stickyEndpoint({ slug }: Model): string | null {
    const { stickyKey, order } = this.#wish;
    const { sticky } = this.#world;
    const key = stickyKey === null || order !== null || sticky === null ? null : stickyKey();
    return key === null ? null : sticky!.find(key, slug);
  }

  #orderRank(): Value {
    const { order } = this.#wish;
    return order === null ? () => 0 : ({ endpoint }) => rankIn(order, endpoint);
  }
}

/** Compares by the first value that differs. */
function by(...values: readonly Value[]): (a: Contender, b: Contender) => number {
  return (a, b) => {
    for (const value of values) {
      const [left, right] = [value(a), value(b)];
      if (left !== right) return left < right ? -1 : 1;
    }
    return 0;
  };
}

/** Groups contenders with the same number, the lowest number first. */
function classesOf(contenders: readonly Contender[], numberOf: Value): readonly (readonly Contender[])[] {
  const classes = new Map<number, Contender[]>();
  for (const contender of contenders) {
    const number = numberOf(contender);
    const members = classes.get(number);
    if (members === undefined) classes.set(number, [contender]);
    else members.push(contender);
  }
  if (classes.size === 1) return [contenders];
  return [...classes].toSorted(([a], [b]) => a - b).map(([, members]) => members);
}

/** Draws one contender at random with weight 1/price². If some are free, draws only among these. */
function draw(contenders: readonly Contender[], priceOf: Value, chance: number): Contender {
  const free = contenders.filter((contender) => priceOf(contender) === 0);
  if (free.length > 0) return free[Math.floor(chance * free.length)]!;
  // Weights use prices relative to the lowest one, because the square of a rate in 10^-18 USD would lose precision.
  const lowest = Math.min(...contenders.map(priceOf));
  const weights = contenders.map((contender) => (lowest / priceOf(contender)) ** 2);
  let left = chance * weights.reduce((sum, weight) => sum + weight, 0);
  const index = weights.findIndex((weight) => (left -= weight) < 0);
  return contenders[index === -1 ? 0 : index]!;
}

import { isCallable } from '../apis/apis';
import type { CallableApi } from '../dialects/dialect-pairs';
import type { EndpointCaller } from './endpoint-caller';
import type { RoutedRequest } from './inference-call';
import type { ProviderAdapter } from '../providers/provider';
import type { Catalogue } from '../catalogue/catalogue';
import type { CredentialSource, OwnCredential, ProviderFilter } from '../routing/credential-source';
import type { ProviderHealth } from '../routing/provider-health';
import { planRoute, type RoutePlan } from '../routing/route-plan';
import { utcDay } from '../routing/utc-day';
import type { StickyRoutes } from '../routing/sticky-routes';

/** The APIs for which a route is planned. */
export type RoutableApi = CallableApi | 'transcription';

export interface PlannerParts {
  /** Returns the catalogue. Called once per request, so that a reload applies to the next request. */
  readonly catalogue: () => Catalogue;
  /** Adapters by protocol. */
  readonly adapters: ReadonlyMap<string, ProviderAdapter>;
  readonly credentials: CredentialSource;
  readonly health: ProviderHealth;
  /** Returns a random number from 0 (included) to 1 (excluded). */
  readonly dice: () => number;
  /** False: a request for more output tokens than an endpoint can produce is refused; otherwise its cap is lowered. */
  readonly capsOutput?: boolean;
  /** Region of the gateway, for the metadata; null if absent. */
  readonly region?: string | null;
  /** Milliseconds since 1970, to check the expiration dates of models; `Date.now` if absent. */
  readonly wallClock?: () => number;
}

/** Collects the inputs of a request's route plan, and makes the plan. */
export class RoutePlanner {
  readonly #isSpoken: ProviderFilter = ({ protocol }) => this.parts.adapters.has(protocol);

  constructor(
    private readonly parts: PlannerParts,
    private readonly caller: EndpointCaller,
    private readonly sticky: StickyRoutes,
  ) {}

  /** Returns a promise only if keys must be loaded; most calls have them in memory. @throws like `planRoute` */
  plan(api: RoutableApi, request: RoutedRequest): RoutePlan | Promise<RoutePlan> {
    const { credentials } = this.parts;
    const scope = request.scope ?? {};
    const available = credentials.availableProviders(scope);
    const own = request.ownKeys ?? credentials.ownCredentials(scope);
    if (!(available instanceof Promise) && !(own instanceof Promise)) {
      return this.#planWith(available, own, api, request);
    }
    return Promise.all([available, own]).then(([hasKey, keys]) => this.#planWith(hasKey, keys, api, request));
  }

  #planWith(
    hasKey: ProviderFilter,
    own: readonly OwnCredential[],
    api: RoutableApi,
    request: RoutedRequest,
  ): RoutePlan {
    const { catalogue, adapters, health, dice, capsOutput = true, region, wallClock = Date.now } = this.parts;
    return planRoute(
      { ...request, api, capsOutput },
      {
        catalogue: catalogue(),
        health,
        statistics: health.statistics,
        sticky: this.sticky,
        credentials: own,
        isSpoken: this.#isSpoken,
        canServe: this.caller.canServe,
        takesLinks: ({ provider }) => adapters.get(provider.protocol)?.takesLinks !== false,
        lostMembers: (contender) => (isCallable(api) ? this.caller.lostMembers(api, contender, request) : []),
        isAvailable: (provider) => adapters.has(provider.protocol) && hasKey(provider),
        dice,
        region,
        today: utcDay(wallClock()),
      },
    );
  }
}

import type { ScannedObject } from '@libs/json';
import type { CanonicalRequest } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import type { Endpoint } from '../catalogue/catalogue';
import { traitsOf } from '../catalogue/endpoint-traits';
import { tierNamed } from '../catalogue/service-tiers';
import { memberText } from './request-members';

const TIER = 'service_tier';
const SPEED = 'speed';
/** The speeds without extra cost, as JSON texts. */
const USUAL_SPEEDS: ReadonlySet<string> = new Set(['"standard"', 'null']);

/** Leaves the choice of the tier to the provider. */
const AUTO = 'auto';

/** Tiers that providers have under another name. */
const OTHER_NAMES: Readonly<Record<string, string>> = { fast: 'priority', ultrafast: 'priority' };

/**
 * Returns the tier to request from an endpoint, by our names: the tier whose prices the endpoint has. So an endpoint of
 * the standard tier is asked for that tier only, even as a fallback for another tier, unless the caller pays the
 * provider with its own key. Undefined: send no tier.
 */
export function askedTier(endpoint: Endpoint, requested: string | undefined, isOwnKey = false): string | undefined {
  const { tier } = traitsOf(endpoint);
  if (tier !== 'standard') return tier;
  if (requested === undefined || !isApart(requested)) return requested;
  return isOwnKey ? (OTHER_NAMES[requested] ?? requested) : undefined;
}

/** Sets the tier of a canonical request. Logs a tier that it removes. */
export function withAskedTier(
  request: CanonicalRequest,
  endpoint: Endpoint,
  { isOwnKey = false, log }: Pick<TierSettings, 'isOwnKey' | 'log'> = {},
): CanonicalRequest {
  const { serviceTier, ...rest } = request;
  const asked = askedTier(endpoint, serviceTier, isOwnKey);
  if (isUnserved(serviceTier, asked)) log?.drop(TIER);
  return asked === serviceTier ? request : { ...rest, ...(asked !== undefined && { serviceTier: asked }) };
}

/** Returns true if the request names a tier with its own price that this endpoint does not sell. */
function isUnserved(requested: string | undefined, asked: string | undefined): boolean {
  return asked === undefined && requested !== undefined && isApart(requested);
}

/** Returns true for a tier that may have a price of its own, which is every name that is not known to have none. */
function isApart(requested: string): boolean {
  return requested !== AUTO && tierNamed(requested) !== 'standard';
}

export interface TierSettings {
  /** True if the caller pays the provider, with its own key. */
  readonly isOwnKey?: boolean;
  /** Returns the upstream's name for a tier; absent: our name is used. */
  readonly wordOf?: (tier: string) => string;
  /** Receives each tier or speed that is left out of the request. */
  readonly log?: LossLog | undefined;
}

/**
 * Sets the tier of a caller's request.
 *
 * @param set JSON texts by field name, to which the tier to ask for is added
 * @returns the names of fields that the upstream is not sent
 */
export function setAskedTier(
  request: ScannedObject,
  endpoint: Endpoint,
  set: Record<string, string | Buffer>,
  { isOwnKey = false, wordOf = (tier) => tier, log }: TierSettings = {},
): readonly string[] {
  const removed: string[] = [];
  const requested = requestedIn(request);
  const asked = askedTier(endpoint, requested, isOwnKey);
  if (isUnserved(requested, asked)) log?.drop(TIER);
  if (asked !== undefined) set[TIER] = JSON.stringify(wordOf(asked));
  else if (requested !== undefined) removed.push(TIER);
  const mayBeFast = isOwnKey || traitsOf(endpoint).tier === 'priority';
  return mayBeFast ? removed : [...removed, ...unaskedSpeed(request, log)];
}

function unaskedSpeed(request: ScannedObject, log?: LossLog): readonly string[] {
  if (USUAL_SPEEDS.has(memberText(request, SPEED)?.toString() ?? 'null')) return [];
  log?.drop(SPEED);
  return [SPEED];
}

function requestedIn(request: ScannedObject): string | undefined {
  const text = memberText(request, TIER)?.toString();
  return text?.startsWith('"') === true ? (JSON.parse(text) as string) : undefined;
}

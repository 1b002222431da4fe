import type { Attempt } from './attempt';
import type { UpstreamApi } from '../dialects/dialect-pairs';
import type { LossReport } from '../model/loss-report';
import type { Api, Endpoint } from '../catalogue/catalogue-entries';
import type { Candidate, RoutePlan } from './planned-route';
import type { NamedBy } from './route-model';

export type RoutingStrategy = NamedBy | 'fallback';

/** Fixed list of the API: clients reject other words. */
export type PipelineStageType = 'guardrail' | 'plugin' | 'server_tools' | 'response_healing' | 'context_compression';

/** A step that the request or the answer went through. */
export interface PipelineStage {
  readonly type: PipelineStageType;
  readonly name: string;
  readonly summary?: string;
  readonly cost_usd?: number | null;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly guardrail_id?: string;
  readonly guardrail_scope?: string;
}

/** A translation between dialects, and the fields that it lost. */
export interface TranslationReport extends LossReport {
  readonly from: Api;
  readonly to: UpstreamApi;
}

export interface ExcludedEndpoint {
  readonly model: string;
  readonly provider: string;
  readonly excluded_by: string;
}

/** The `<service>_metadata` object. */
export interface RoutingMetadata {
  /** Number of the attempt, from 1; 0 if no provider was reached. */
  readonly attempt: number;
  readonly attempts?: readonly { readonly model: string; readonly provider: string; readonly status: number }[];
  readonly endpoints: {
    readonly available: readonly { readonly model: string; readonly provider: string; readonly selected: boolean }[];
    /** Endpoints that were considered and ruled out, each with the request field or condition that ruled it out. */
    readonly excluded?: readonly ExcludedEndpoint[];
    /** All that were considered. */
    readonly total: number;
  };
  readonly is_byok: boolean;
  /** Region of the gateway that received the request; null if it is not configured. */
  readonly region: string | null;
  readonly requested: string;
  readonly strategy: RoutingStrategy;
  readonly summary: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly pipeline?: readonly PipelineStage[];
  /** Absent if the bytes passed through and nothing was left out. */
  readonly translation?: TranslationReport;
  /** Milliseconds from the request to the end of the answer. */
  readonly generation_time?: number;
}

export interface RoutingReport {
  readonly plan: RoutePlan;
  /** The upstream calls in order; null if a guardrail stopped the request before any. */
  readonly attempts: readonly Attempt[] | null;
  /** Null if every attempt failed. */
  readonly served: Candidate | null;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly pipeline?: readonly PipelineStage[];
  readonly translation?: TranslationReport | null;
  readonly generationMs?: number;
}

/** Returns the report of a route as it was planned and taken. */
export function routingMetadata(report: RoutingReport): RoutingMetadata {
  const { plan, attempts, served, params, pipeline = [], translation, generationMs } = report;
  const available = availableOf(plan, served);
  return {
    attempt: attempts?.length ?? 0,
    ...attemptsOf(attempts),
    endpoints: { available, ...excludedOf(plan), total: countEndpoints(plan) },
    is_byok: Boolean(served?.credential),
    region: plan.region ?? null,
    requested: plan.requested,
    strategy: strategyOf(plan, served),
    summary: `available=${available.length}, selected=${selectedName(served)}`,
    ...(params !== undefined && { params }),
    ...(pipeline.length > 0 && { pipeline }),
    ...(translation && { translation }),
    ...(generationMs !== undefined && { generation_time: Math.round(generationMs) }),
  };
}

/** Returns the report of a call to an endpoint that was given, so that no route was planned. */
export function directMetadata(
  requested: string,
  served: Candidate & { readonly attempts: readonly Attempt[] },
  translation: TranslationReport | null,
): RoutingMetadata {
  const { model, endpoint, credential = null, attempts } = served;
  const considered = [{ model, endpoint, credential, excludedBy: null }];
  const plan = { candidates: [served], considered, requested, resolved: model.slug, namedBy: 'direct' } as const;
  return routingMetadata({ plan, attempts, served, translation });
}

/** Returns the fields that a translation lost; null if the bytes passed through. */
export function translationReport(
  from: Api,
  to: UpstreamApi,
  { dropped, approximated }: LossReport,
): TranslationReport | null {
  if (from === to && dropped.length + approximated.length === 0) return null;
  return { from, to, dropped, approximated };
}

function attemptsOf(attempts: RoutingReport['attempts']): Pick<RoutingMetadata, 'attempts'> {
  if (attempts === null) return {};
  return { attempts: attempts.map(({ model, providerName, status }) => ({ model, provider: providerName, status })) };
}

function selectedName(served: Candidate | null): string {
  return served === null ? 'none' : served.endpoint.provider.name;
}

/** Lists each endpoint once, however many keys it can be called with. */
function availableOf(plan: RoutePlan, served: Candidate | null): RoutingMetadata['endpoints']['available'] {
  const endpoints = new Map<Endpoint, Candidate>();
  for (const candidate of plan.candidates) {
    if (!endpoints.has(candidate.endpoint)) endpoints.set(candidate.endpoint, candidate);
  }
  return [...endpoints.values()].map(({ model, endpoint }) => ({
    model: model.slug,
    provider: endpoint.provider.name,
    selected: served !== null && served.endpoint === endpoint,
  }));
}

/** Lists an endpoint as excluded only if it is excluded with every key. */
function excludedOf({ candidates, considered }: RoutePlan): Pick<RoutingMetadata['endpoints'], 'excluded'> {
  const left = new Set(candidates.map(({ endpoint }) => endpoint));
  const excluded = new Map<Endpoint, ExcludedEndpoint>();
  for (const { model, endpoint, excludedBy } of considered) {
    if (excludedBy === null || left.has(endpoint) || excluded.has(endpoint)) continue;
    excluded.set(endpoint, { model: model.slug, provider: endpoint.provider.name, excluded_by: excludedBy });
  }
  return excluded.size === 0 ? {} : { excluded: [...excluded.values()] };
}

function countEndpoints({ considered }: RoutePlan): number {
  return new Set(considered.map(({ endpoint }) => endpoint)).size;
}

function strategyOf({ resolved, namedBy }: RoutePlan, served: Candidate | null): RoutingStrategy {
  return served !== null && served.model.slug !== resolved ? 'fallback' : namedBy;
}

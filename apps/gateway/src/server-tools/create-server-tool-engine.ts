import { endpointsNamed, type Endpoint, type InferenceEngine, type PicoUsd, type StreamableApi } from '@libs/inference';
import { estimateHold } from '../routing/hold-estimate';
import type { InferenceRouting } from '../routing/inference-routing';
import type { ServerTool } from './server-tool';
import { ServerToolEngine } from './server-tool-engine';
import { ServerToolPlanner, type PlannerParts } from './server-tool-plan';

export interface ServerToolEngineParts {
  readonly engine: InferenceEngine;
  readonly routing: InferenceRouting;
  readonly serviceName: string;
  readonly tools: readonly ServerTool[];
}

/** Creates the server tools with this installation's engine and catalogue. */
export function createServerToolEngine({
  engine,
  routing,
  serviceName,
  tools,
}: ServerToolEngineParts): ServerToolEngine {
  const isNative = (endpoint: Endpoint, api: StreamableApi): boolean => routing.upstreamApi(endpoint, api) === api;
  const nativeShare: PlannerParts['nativeShare'] = (models, api, isMeant = () => true) => {
    const endpoints = models.flatMap((name) => endpointsNamed(name, routing.catalogue()));
    const natives = endpoints.filter((endpoint) => isNative(endpoint, api) && isMeant(endpoint));
    if (natives.length === 0) return 'none';
    return natives.length === endpoints.length ? 'all' : 'some';
  };
  return new ServerToolEngine(engine, new ServerToolPlanner({ serviceName, tools, nativeShare, isNative }));
}

/** Tokens of a large picture at its most expensive settings, with some thoughts. */
const PICTURE_TOKENS = 6_240;

/** Returns the tokens that an answer with a picture by a model may have, at each of its endpoints. */
export function mostPictureTokens(routing: InferenceRouting, model: string): number {
  const endpoints = endpointsNamed(model, routing.catalogue());
  return endpoints.reduce((least, at) => Math.min(least, at.maxCompletionTokens ?? least), PICTURE_TOKENS);
}

/** Returns what a picture by a model may cost at its most expensive endpoint. */
export function picturePicoUsd(routing: InferenceRouting, model: string, promptTokens: number): PicoUsd {
  const maxTokens = mostPictureTokens(routing, model);
  return estimateHold(routing.catalogue(), { api: 'chat', models: [model], promptTokens, maxTokens, answers: 1 });
}

/** Returns the slugs of the models that make pictures in a chat, in the order of the catalogue. */
export function imageModelsOf(routing: InferenceRouting): readonly string[] {
  return routing
    .catalogue()
    .models()
    .filter(({ architecture }) => architecture.outputModalities.includes('image'))
    .filter(({ endpoints }) => endpoints.some((endpoint) => routing.canServe(endpoint, 'chat')))
    .map(({ slug }) => slug);
}

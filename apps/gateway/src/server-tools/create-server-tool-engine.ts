import { endpointsNamed, type Endpoint, type InferenceEngine, type StreamableApi } from '@libs/inference';
import type { InferenceRouting } from '../inference/inference-routing';
import type { ServerTool } from './server-tool';
import { ServerToolEngine } from './server-tool-engine';
import { ServerToolPlanner, type NativeShare } from './server-tool-plan';

export interface ServerToolEngineParts {
  readonly engine: InferenceEngine;
  readonly routing: InferenceRouting;
  readonly serviceName: string;
  readonly tools: readonly ServerTool[];
}

/** The tools over this installation's engine and catalogue. */
export function createServerToolEngine({
  engine,
  routing,
  serviceName,
  tools,
}: ServerToolEngineParts): ServerToolEngine {
  const isNative = (endpoint: Endpoint, api: StreamableApi): boolean => routing.upstreamApi(endpoint, api) === api;
  const nativeShare = (models: readonly string[], api: StreamableApi): NativeShare => {
    const endpoints = models.flatMap((name) => endpointsNamed(name, routing.catalogue()));
    const natives = endpoints.filter((endpoint) => isNative(endpoint, api));
    if (natives.length === 0) return 'none';
    return natives.length === endpoints.length ? 'all' : 'some';
  };
  return new ServerToolEngine(engine, new ServerToolPlanner({ serviceName, tools, nativeShare, isNative }));
}

/** Slugs of the models that make pictures when they are asked in a chat, in the order of the catalogue. */
export function imageModelsOf(routing: InferenceRouting): readonly string[] {
  return routing
    .catalogue()
    .models()
    .filter(({ architecture }) => architecture.outputModalities.includes('image'))
    .filter(({ endpoints }) => endpoints.some((endpoint) => routing.canServe(endpoint, 'chat')))
    .map(({ slug }) => slug);
}

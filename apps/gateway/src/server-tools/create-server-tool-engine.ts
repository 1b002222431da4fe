import { endpointsNamed, type InferenceEngine } from '@libs/inference';
import type { InferenceRouting } from '../inference/inference-routing';
import type { ServerTool } from './server-tool';
import { ServerToolEngine } from './server-tool-engine';
import { ServerToolPlanner } from './server-tool-plan';

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
  const hasNativeResponses = (models: readonly string[]): boolean =>
    models
      .flatMap((name) => endpointsNamed(name, routing.catalogue()))
      .some((endpoint) => routing.upstreamApi(endpoint, 'responses') === 'responses');
  return new ServerToolEngine(engine, new ServerToolPlanner({ serviceName, tools, hasNativeResponses }));
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

import { AnthropicProvider } from './anthropic.provider';
import { AzureProvider } from './azure.provider';
import { BedrockProvider } from './bedrock.provider';
import { CohereProvider } from './cohere.provider';
import { GoogleProvider } from './google.provider';
import { GoogleVertexProvider } from './google-vertex.provider';
import { MistralProvider } from './mistral.provider';
import { OpenAiProvider } from './openai.provider';
import type { ProviderAdapter } from './provider';
import { AssemblyAiProvider } from './speech/assemblyai.provider';
import { DeepgramProvider } from './speech/deepgram.provider';
import { ElevenLabsProvider } from './speech/elevenlabs.provider';
import { GladiaProvider } from './speech/gladia.provider';
import { RevAiProvider } from './speech/revai.provider';
import type { UpstreamHttp } from './upstream-http';

/** Every protocol there is, one line each, by the `protocol` of the catalogue. */
export function createProviderAdapters(http: UpstreamHttp): ReadonlyMap<string, ProviderAdapter> {
  const adapters: readonly ProviderAdapter[] = [
    new OpenAiProvider(http),
    new AnthropicProvider(http),
    new BedrockProvider(http),
    new AzureProvider(http),
    new CohereProvider(http),
    new MistralProvider(http),
    new GoogleProvider(http),
    new GoogleVertexProvider(http),
    new AssemblyAiProvider(http),
    new DeepgramProvider(http),
    new ElevenLabsProvider(http),
    new GladiaProvider(http),
    new RevAiProvider(http),
  ];
  return new Map(adapters.map((adapter) => [adapter.protocol, adapter]));
}

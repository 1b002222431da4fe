import { AnthropicProvider } from './anthropic.provider';
import { AzureProvider } from './azure.provider';
import { BedrockProvider } from './bedrock.provider';
import { CohereProvider } from './cohere.provider';
import { GoogleProvider } from './google.provider';
import { GoogleVertexProvider } from './google-vertex.provider';
import { asBearer } from '../wire/json-exchange';
import { MistralProvider } from './mistral.provider';
import { OpenAiProvider } from './openai.provider';
import type { ProviderAdapter } from './provider';
import { AssemblyAiProvider } from './speech/assemblyai.provider';
import { AzureSpeechProvider } from './speech/azure-speech.provider';
import { DeepgramProvider } from './speech/deepgram.provider';
import { ElevenLabsProvider } from './speech/elevenlabs.provider';
import { GladiaProvider } from './speech/gladia.provider';
import { RevAiProvider } from './speech/revai.provider';
import type { UpstreamHttp } from '../wire/upstream-http';
import { VideoProvider } from './video.provider';
import { BytePlusVideos } from './videos/byteplus-videos';
import { FalVideos } from './videos/fal-videos';
import { MinimaxVideos } from './videos/minimax-videos';
import { ReplicateVideos } from './videos/replicate-videos';
import { RunwayVideos } from './videos/runway-videos';
import { VideoRest } from './videos/video-rest';

const RUNWAY_VERSION = '2024-11-06';

/** Every protocol there is, one line each, by the `protocol` of the catalogue. */
export function createProviderAdapters(http: UpstreamHttp): ReadonlyMap<string, ProviderAdapter> {
  const bearer = new VideoRest(http, asBearer);
  const runway = new VideoRest(http, (apiKey) => [
    'authorization',
    `Bearer ${apiKey}`,
    'x-runway-version',
    RUNWAY_VERSION,
  ]);
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
    new AzureSpeechProvider(http),
    new DeepgramProvider(http),
    new ElevenLabsProvider(http),
    new GladiaProvider(http),
    new RevAiProvider(http),
    new VideoProvider('replicate', new ReplicateVideos(bearer)),
    new VideoProvider('fal', new FalVideos(new VideoRest(http, (apiKey) => ['authorization', `Key ${apiKey}`]))),
    new VideoProvider('runway', new RunwayVideos(runway)),
    new VideoProvider('minimax', new MinimaxVideos(bearer)),
    new VideoProvider('byteplus', new BytePlusVideos(bearer)),
  ];
  return new Map(adapters.map((adapter) => [adapter.protocol, adapter]));
}

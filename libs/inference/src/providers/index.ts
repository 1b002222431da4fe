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
import { BytePlusVideos } from './videos/byteplus-videos';
import { FalVideos } from './videos/fal-videos';
import { MinimaxVideos } from './videos/minimax-videos';
import { ReplicateVideos } from './videos/replicate-videos';
import { RunwayVideos } from './videos/runway-videos';
import { VideoRest } from './videos/video-rest';

const RUNWAY_VERSION = '2024-11-06';

const bearer = (http: UpstreamHttp): VideoRest => new VideoRest(http, asBearer);

const keyed = (http: UpstreamHttp): VideoRest => new VideoRest(http, (apiKey) => ['authorization', `Key ${apiKey}`]);

const runway = (http: UpstreamHttp): VideoRest =>
  new VideoRest(http, (apiKey) => ['authorization', `Bearer ${apiKey}`, 'x-runway-version', RUNWAY_VERSION]);

/** All protocols, one line each, by the catalogue's `protocol`. */
const ADAPTERS: Readonly<Record<string, (http: UpstreamHttp) => ProviderAdapter>> = {
  openai: (http) => new OpenAiProvider(http),
  anthropic: (http) => new AnthropicProvider(http),
  google: (http) => new GoogleProvider(http),
  'google-vertex': (http) => new GoogleVertexProvider(http),
  bedrock: (http) => new BedrockProvider(http),
  azure: (http) => new AzureProvider(http),
  'azure-speech': (http) => new AzureSpeechProvider(http),
  cohere: (http) => new CohereProvider(http),
  mistral: (http) => new MistralProvider(http),
  deepgram: (http) => new DeepgramProvider(http),
  elevenlabs: (http) => new ElevenLabsProvider(http),
  assemblyai: (http) => new AssemblyAiProvider(http),
  gladia: (http) => new GladiaProvider(http),
  revai: (http) => new RevAiProvider(http),
  fal: (http) => ({ video: new FalVideos(keyed(http)) }),
  replicate: (http) => ({ video: new ReplicateVideos(bearer(http)) }),
  runway: (http) => ({ video: new RunwayVideos(runway(http)) }),
  minimax: (http) => ({ video: new MinimaxVideos(bearer(http)) }),
  byteplus: (http) => ({ video: new BytePlusVideos(bearer(http)) }),
};

/** The allowed values of `protocol` in the catalogue. */
export const PROTOCOLS: readonly string[] = Object.keys(ADAPTERS);

/** The adapters by their protocol. */
export function createProviderAdapters(http: UpstreamHttp): ReadonlyMap<string, ProviderAdapter> {
  return new Map(Object.entries(ADAPTERS).map(([protocol, create]) => [protocol, create(http)]));
}

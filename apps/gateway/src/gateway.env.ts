import type { Secret } from '@libs/contracts';
import {
  Bool,
  CidrList,
  Int,
  OneOf,
  SomeOf,
  Port,
  ProviderCallerEnv,
  PublicUrl,
  SecretText,
  SecretUrl,
  Text,
  loadEnv,
} from '@libs/platform';
import { LEFTOVER_BOUNDS } from '@libs/inference';
import { IsOptional } from 'class-validator';

/**
 * Longest duration of a call. An open call older than 15 minutes counts as one of a process that died, and its hold is
 * released.
 */
const LONGEST_CALL_MS = 840_000;

const SEARCH_ENGINES = ['exa', 'tavily', 'brave', 'searxng'];

export class GatewayEnv extends ProviderCallerEnv {
  override HEALTH_PORT: number = 8_081;

  /** The public port. */
  @Port()
  PORT: number = 8_080;

  /** URL at which clients reach the gateway; derived from the port if absent. */
  @IsOptional()
  @PublicUrl(['http', 'https'])
  PUBLIC_URL?: string;

  /** Most authenticated requests that this process handles at once; more are refused as overload. */
  @Int({ min: 1, max: 100_000 })
  MAX_REQUESTS_IN_FLIGHT: number = 4_096;

  /** Most authenticated requests whose bodies arrive at once; more are refused as overload. */
  @Int({ min: 1, max: 100_000 })
  MAX_BODIES_ARRIVING: number = 1_024;

  /** Most connections to the public port at once; more are closed. */
  @Int({ min: 16, max: 1_000_000 })
  MAX_CONNECTIONS: number = 16_384;

  /** Memory that requests may reserve together; 0: half of the container's limit, at most 1024. */
  @Int({ min: 0, max: 1_048_576 })
  MEMORY_BUDGET_MIB: number = 0;

  /** Longest time from sending a request to a provider to the first byte of its answer. */
  @Int({ min: 1, max: LONGEST_CALL_MS })
  UPSTREAM_HEADERS_TIMEOUT_MS: number = 300_000;

  /** Longest silence of a provider in the middle of an answer. */
  @Int({ min: 1, max: LONGEST_CALL_MS })
  UPSTREAM_IDLE_TIMEOUT_MS: number = 60_000;

  /** Longest time of a call as a whole, including all of its attempts. */
  @Int({ min: 1, max: LONGEST_CALL_MS })
  UPSTREAM_TOTAL_TIMEOUT_MS: number = 600_000;

  /** `cap` lowers a request's output tokens to the limit of the endpoint; `refuse` answers 400. */
  @OneOf(['cap', 'refuse'])
  OUTPUT_ABOVE_LIMIT: string = 'cap';

  /** How long a stream waits for its first event before its status and a comment are sent without it. */
  @Int({ min: 1, max: LONGEST_CALL_MS })
  STREAM_FIRST_COMMENT_MS: number = 15_000;

  /** How long a call is read on for its usage after its caller has disconnected; 0: not at all. */
  @Int({ min: 0, max: LONGEST_CALL_MS })
  LEFTOVER_READ_MS: number = LEFTOVER_BOUNDS.longestMs;

  /** Most output tokens that such a leftover read may bring, as an estimate. */
  @Int({ min: 1, max: 1_000_000 })
  LEFTOVER_READ_TOKENS: number = LEFTOVER_BOUNDS.mostTokens;

  /** Most bytes of a stream that such a leftover read may bring. */
  @Int({ min: 1, max: 64 * 1024 * 1024 })
  LEFTOVER_READ_BYTES: number = LEFTOVER_BOUNDS.mostBytes;

  /**
   * Most leftover reads at once in this process, an eighth of them per organization; beyond that, calls end at once.
   */
  @Int({ min: 0, max: 100_000 })
  LEFTOVER_READS: number = LEFTOVER_BOUNDS.mostReads;

  /** Longest time that one provider may work on one recording. */
  @Int({ min: 1, max: LONGEST_CALL_MS })
  TRANSCRIPTION_TIMEOUT_MS: number = 60_000;

  /** Batch submissions per workspace. */
  @Int({ min: 1, max: 1_000_000 })
  BATCH_SUBMISSIONS_PER_MINUTE: number = 60;

  /** Reads of batches per workspace. */
  @Int({ min: 1, max: 1_000_000 })
  BATCH_READS_PER_MINUTE: number = 1_200;

  /** Video submissions per workspace. */
  @Int({ min: 1, max: 1_000_000 })
  VIDEO_SUBMISSIONS_PER_MINUTE: number = 60;

  /** Reads of videos per workspace. */
  @Int({ min: 1, max: 1_000_000 })
  VIDEO_READS_PER_MINUTE: number = 1_200;

  /** Longest time that a provider may take for a video before the job is given up. */
  @Int({ min: 1, max: 604_800 })
  VIDEO_LIFETIME_SECONDS: number = 21_600;

  /** Folder of finished videos; the video worker writes them. */
  @Text({ expected: 'a path to a folder' })
  BLOB_DIR: string = '.sluice/blobs';

  /** A bucket to use instead of the folder: `https://KEY:SECRET@host/bucket/prefix?region=…`. */
  @IsOptional()
  @SecretUrl(['https', 'http'])
  BLOB_S3_URL?: Secret;

  /** True: prompts and answers are stored, for `GET /generation/content`. */
  @OneOf(['off', 'on'])
  CONTENT_LOGGING: 'off' | 'on' = 'off';

  /** Days after which stored prompts and answers are deleted. */
  @Int({ min: 1, max: 3_650 })
  CONTENT_RETENTION_DAYS: number = 30;

  /** `false` accepts a token exchange without a key. */
  @Bool()
  TOKEN_EXCHANGE_REQUIRE_BEARER: boolean = true;

  /** Token exchanges per source address. */
  @Int({ min: 1, max: 1_000_000 })
  TOKEN_EXCHANGES_PER_MINUTE: number = 3_000;

  /** Exchanges of authorization codes for keys, per source address; 0 means no limit. */
  @Int({ min: 0, max: 1_000_000 })
  KEY_EXCHANGES_PER_MINUTE: number = 300;

  /** Requests for the consent page and the API description, per source address; 0 means no limit. */
  @Int({ min: 0, max: 1_000_000 })
  CONSENT_REQUESTS_PER_MINUTE: number = 600;

  /** Unknown keys and tokens that this process accepts from a source address; 0 means no limit. */
  @Int({ min: 0, max: 1_000_000 })
  FAILED_AUTHENTICATIONS_PER_MINUTE: number = 300;

  /** Calls with management keys, per organization; 0 means no limit. */
  @Int({ min: 0, max: 1_000_000 })
  MANAGEMENT_REQUESTS_PER_MINUTE: number = 3_000;

  /** Inference calls per workspace; 0 means no limit. */
  @Int({ min: 0, max: 100_000_000 })
  INFERENCE_REQUESTS_PER_MINUTE: number = 0;

  /** Tokens of prompts and answers per workspace; 0 means no limit. */
  @Int({ min: 0, max: 100_000_000_000 })
  INFERENCE_TOKENS_PER_MINUTE: number = 0;

  /**
   * Address ranges of proxies in front of the gateway. Their `X-Forwarded-For` is trusted for the source of a request.
   */
  @IsOptional()
  @CidrList()
  TRUSTED_PROXIES?: string[];

  /** Number of gateways that share the limits; each grants its share while Redis is unavailable. */
  @Int({ min: 1, max: 10_000 })
  GATEWAY_REPLICAS: number = 1;

  /** Region of this gateway, a word chosen by the operator; shown as `region` in routing metadata. */
  @IsOptional()
  @Text({ expected: 'a name' })
  GATEWAY_REGION?: string;

  /** Status of the answer of `POST /byok`: 200 is the API's; 201 is for clients that accept nothing else. */
  @Int({ min: 200, max: 201 })
  BYOK_CREATED_STATUS: number = 200;

  /** Each of the next four configures one web search engine. */
  @IsOptional()
  @SecretText({ expected: 'a key' })
  EXA_API_KEY?: Secret;

  @IsOptional()
  @SecretText({ expected: 'a key' })
  TAVILY_API_KEY?: Secret;

  @IsOptional()
  @SecretText({ expected: 'a key' })
  BRAVE_API_KEY?: Secret;

  /** The operator's own search engine, without `/search`. */
  @IsOptional()
  @PublicUrl(['http', 'https'])
  SEARXNG_URL?: string;

  /** Engines that store nothing about queries, so that calls with zero data retention may use them. */
  @IsOptional()
  @SomeOf(SEARCH_ENGINES)
  SEARCH_KEEPS_NOTHING?: string[];

  /** Price of one search for the caller. */
  @Text({ expected: 'an amount in US dollars such as 0.004', pattern: /^(0|[1-9]\d{0,3})(\.\d{1,12})?$/ })
  WEB_SEARCH_COST_USD: string = '0';

  /**
   * How to handle a plain `web_search` that no engine or provider can run: `omit` answers without it, `refuse` answers
   * 400.
   */
  @OneOf(['omit', 'refuse'])
  WEB_SEARCH_WITHOUT_ENGINE: string = 'omit';

  /** URL of an endpoint with OpenAI's moderations API, including the path. */
  @IsOptional()
  @PublicUrl(['http', 'https'])
  MODERATION_URL?: string;

  @IsOptional()
  @SecretText({ expected: 'a key' })
  MODERATION_API_KEY?: Secret;

  @IsOptional()
  @Text({ expected: 'the name of a model', maxLength: 256 })
  MODERATION_MODEL?: string;

  /** True if it stores nothing, so that calls with zero data retention may use it. */
  @Bool()
  MODERATION_KEEPS_NOTHING: boolean = false;

  /** Judges answers for the plugin alignment. */
  @IsOptional()
  @Text({ expected: 'the name of a model', maxLength: 256 })
  ALIGNMENT_MODEL?: string;
}

/**
 * Returns the URL at which clients reach the gateway, without a trailing slash. It is the issuer and audience of access
 * tokens.
 */
export function publicUrlOf({ PUBLIC_URL, PORT }: GatewayEnv): string {
  return (PUBLIC_URL ?? `http://127.0.0.1:${PORT}`).replace(/\/+$/, '');
}

/** @throws EnvError */
export function readGatewayEnv(source: NodeJS.ProcessEnv = process.env): GatewayEnv {
  return loadEnv(GatewayEnv, source);
}

/** Returns the operator's provider keys from the environment variables that the catalogue names. */
export function providerKeyVariables(source: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return source;
}

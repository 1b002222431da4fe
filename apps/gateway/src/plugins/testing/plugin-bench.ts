import { Secret, type OwnedPolicy, type Principal } from '@libs/contracts';
import {
  Cancellation,
  parseCatalogue,
  resolveModel,
  type InferenceResult,
  type PipelineStage,
  type StreamableApi,
} from '@libs/inference';
import { Egress } from '@libs/platform';
import { HttpsHost, selfSignedCertificate } from '@libs/platform/testing';
import { EdgePools } from '../../http/edge-pools';
import { RequestClaim } from '../../http/request-claim';
import { checkCall } from '../../inference/checked-call';
import type { IncomingCall } from '../../generations/incoming-call';
import { HtmlReader } from '../../parsers/html-reader';
import { ParserPool } from '../../parsers/parser-pool';
import { PdfReader } from '../../parsers/pdf-reader';
import { SearchServer } from '../../server-tools/testing/search-server';
import { PageReader } from '../../server-tools/web-fetch-pages/page-reader';
import { WebSearch } from '../../server-tools/web-search';
import { createSearchEngines } from '../../server-tools/web-search-engines';
import { createPlugins } from '../create-plugins';
import type { PluginRun } from '../plugin-run';

export const SEARCH_COST = 4_000_000_000n;

/** A request and what plugins made of it. */
export interface Prepared {
  readonly run: PluginRun;
  readonly bytes: string;
  readonly body: Record<string, unknown>;
  readonly stages: () => readonly PipelineStage[];
}

/** A name of the host of pages that looks public: links to private hosts are refused before a plugin sees them. */
export const PUBLIC_NAME = 'pages.example';

/** The plugins with services on loopback: one that speaks JSON (searches, moderation) and one with pages. */
export class PluginBench {
  isModerated = true;
  alignmentModel: string | null = 'test/text';
  canSearch = true;
  /** What the operator declares of the search engine and of the moderation. */
  servicesKeepNothing = false;
  policies: readonly OwnedPolicy[] = [];
  /** Of the gateway that works on the next request. */
  memoryBytes = 256 * 1024 * 1024;
  abort = new Cancellation();
  readonly #parsers = new ParserPool();
  #pools = new EdgePools();

  private constructor(
    readonly service: SearchServer,
    readonly host: HttpsHost,
  ) {}

  static async start(): Promise<PluginBench> {
    const host = await HttpsHost.start(
      (_request, response) => response.end('a page'),
      selfSignedCertificate(['127.0.0.1', PUBLIC_NAME]),
    );
    return new PluginBench(await SearchServer.start(), host);
  }

  /** What the last request holds of the memory. */
  get reservedBytes(): number {
    return this.#pools.memory.reserved;
  }

  async stop(): Promise<void> {
    await this.#parsers.onApplicationShutdown();
    await this.service.stop();
    await this.host.stop();
  }

  /** Null where the body asks for no plugin. */
  runFor(api: StreamableApi, body: object): PluginRun | null {
    const bytes = Buffer.from(JSON.stringify(body));
    const caller = {
      organizationId: 'org',
      workspaceId: 'ws',
      keyHash: 'hash',
      policies: this.policies,
    } as unknown as Principal;
    this.#pools = new EdgePools({ memoryBytes: this.memoryBytes });
    const memory = new RequestClaim(this.#pools);
    memory.work({ isPublic: false, holders: ['ws', 'org'] });
    const call: IncomingCall = {
      generationId: 'gen-1',
      arrivedMs: 0,
      caller,
      body: bytes,
      parsed: body,
      abort: this.abort,
      memory,
    };
    return this.#plugins().runFor(api, call, checkCall(api, body));
  }

  async prepare(api: StreamableApi, body: object): Promise<Prepared> {
    const run = this.runFor(api, body)!;
    const call = await run.prepare(() => Promise.resolve());
    const bytes = call.body.toString();
    return {
      run,
      bytes,
      body: JSON.parse(bytes) as Record<string, unknown>,
      stages: () => run.told({}).stages(),
    };
  }

  #plugins() {
    const egress = new Egress({
      allowCidrs: ['127.0.0.0/8'],
      certificateAuthorities: this.host.certificate,
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    const pdf = new PdfReader(this.#parsers);
    const key = new Secret('service-key');
    return createPlugins({
      egress,
      pdf,
      parsers: this.#parsers,
      pages: new PageReader(egress, pdf, new HtmlReader(this.#parsers), 'test'),
      web: new WebSearch(
        this.canSearch ? createSearchEngines({ SEARXNG_URL: this.service.url }) : [],
        SEARCH_COST,
        this.servicesKeepNothing ? ['searxng'] : [],
      ),
      moderation: this.isModerated
        ? { url: `${this.service.url}/moderations`, key, model: 'judge', keepsNothing: this.servicesKeepNothing }
        : null,
      alignmentModel: this.alignmentModel,
      resolve: (name) => resolveModel(name, CATALOGUE),
    });
  }
}

/** A whole answer of an API with one text. */
export function answerOf(api: StreamableApi, text: string): InferenceResult {
  const said = {
    chat: { choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }] },
    responses: { output: [{ type: 'message', content: [{ type: 'output_text', text, annotations: [] }] }] },
    messages: { content: [{ type: 'text', text, citations: null }] },
  }[api];
  const body = Buffer.from(JSON.stringify({ ...said, usage: { cost: 0.001 } }));
  // On an own key, so that no record names an endpoint.
  return { body, credential: {}, cost: { totalCost: 1_000_000_000n } } as InferenceResult;
}

function modelOf(slug: string, modalities: readonly string[], contextLength: number): object {
  return {
    slug,
    name: slug,
    description: 'A model.',
    created: 1,
    context_length: contextLength,
    architecture: {
      input_modalities: modalities,
      output_modalities: ['text'],
      tokenizer: 'Other',
      instruct_type: null,
    },
    supported_parameters: [],
    endpoints: [
      {
        provider: 'test',
        upstream_model: 'x',
        apis: ['chat'],
        pricing: { prompt: '0', completion: '0' },
        context_length: contextLength,
        max_completion_tokens: null,
        quantization: 'unknown',
        region: 'global',
        zdr: false,
        capabilities: {},
      },
    ],
  };
}

const CATALOGUE = parseCatalogue([
  {
    name: 'test.yaml',
    text: JSON.stringify({
      providers: [
        {
          slug: 'test',
          name: 'Test',
          base_url: 'http://127.0.0.1:1/v1',
          protocol: 'openai',
          api_key_env: 'TEST_KEY',
          headers: {},
          regions: ['global'],
          data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: false },
          batch: 'none',
          max_concurrency: 1,
        },
      ],
      models: [modelOf('test/text', ['text'], 1_000), modelOf('test/files', ['text', 'file'], 100_000)],
    }),
  },
]);

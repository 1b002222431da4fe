import type { ServerResponse } from 'node:http';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { startSandbox, type Sandbox } from '../../tools/sandbox-provider/src/start-sandbox';
import { BilledVideos, PROTOCOLS, RECALLS, type Recall } from './billed-videos';
import { catalogueOf, type TestModel, type TestPrices } from './catalogue';
import { Upstream } from './upstream';

const NOBODY = { submitted: () => undefined, fetched: () => undefined };
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const WORDS = { role: 'assistant', content: 'Hello.' };

/** The providers of the tests of failpoints, for batches, calls, callers' own keys and films. */
export class FailpointProviders {
  readonly films: Readonly<Record<Recall, BilledVideos>>;
  /** Calls at each of the providers of single calls. */
  readonly calls = new Map<string, number>();
  /** With what each of them was called last. */
  readonly lastKeys = new Map<string, string>();

  private constructor(
    /** The provider of lines that we run ourselves: `tests/steady`. */
    readonly lines: Upstream,
    private readonly sandbox: Sandbox,
    private readonly fake: FakeUpstream,
  ) {
    const [keyed, listed, plain] = RECALLS.map((recall) => new BilledVideos(recall, NOBODY));
    this.films = { keyed: keyed!, listed: listed!, plain: plain! };
    fake.behaviour = (response, request) => this.#answer(response, request);
  }

  static async start(): Promise<FailpointProviders> {
    const starting = [Upstream.start({ steady: { latencyMs: 20 } }), startSandbox(), FakeUpstream.start()] as const;
    return new FailpointProviders(...(await Promise.all(starting)));
  }

  /**
   * `tests/steady`, `tests/native` (runs whole batches), `tests/NAME` for each of the names, `tests/own`, whose provider
   * takes callers' own keys, and `film/…` for each way to be asked what became of a job.
   */
  catalogue(names: readonly string[], pricing: TestPrices, videoUsd: string): string {
    const { origin } = this.fake;
    const called = (name: string, provider: string): TestModel => ({
      slug: `tests/${name}`,
      provider,
      baseUrl: `${origin}/${name}/v1`,
      pricing,
    });
    const native = { batch: 'native', upstreamModel: 'steady?batch_ms=200' } as const;
    const films = RECALLS.map((recall): TestModel => ({
      slug: `film/${recall}`,
      provider: `film-${recall}`,
      protocol: PROTOCOLS[recall],
      baseUrl: `${origin}/${recall}/v1`,
      apis: ['video'],
      pricing,
    }));
    const models = [
      ...this.lines.models({ steady: {} }, { pricing }),
      { slug: 'tests/native', provider: 'native', baseUrl: `${this.sandbox.url}/v1`, pricing, ...native },
      ...names.map((name) => called(name, name)),
      called('own', 'cerebras'),
      ...films,
    ];
    const parsed = JSON.parse(catalogueOf(models)) as {
      models: { slug: string; endpoints: { pricing: object; capabilities: object }[] }[];
    };
    for (const { slug, endpoints } of parsed.models.filter((model) => model.slug.startsWith('film/'))) {
      endpoints[0]!.pricing = { video_second: videoUsd };
      endpoints[0]!.capabilities = { video: { idempotent_submit: slug === 'film/keyed' } };
    }
    return JSON.stringify(parsed);
  }

  async stop(): Promise<void> {
    await Promise.all([this.lines.stop(), this.sandbox.close(), this.fake.close()]);
  }

  #answer(response: ServerResponse, request: ReceivedRequest): void {
    const name = request.path.split('/')[1] ?? '';
    const film = this.films[name as Recall];
    if (film !== undefined) return film.answer(response, request);
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1);
    this.lastKeys.set(name, String(request.headers.authorization));
    if ((JSON.parse(request.body) as { stream?: boolean }).stream === true) return stream(response);
    const choices = [{ index: 0, message: WORDS, finish_reason: 'stop' }];
    const answer = { id: 'answer', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }
}

function stream(response: ServerResponse): void {
  const event = (members: object): string =>
    `data: ${JSON.stringify({ id: 'answer', object: 'chat.completion.chunk', created: 1, model: 'm', ...members })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(event({ choices: [{ index: 0, delta: WORDS, finish_reason: null }] }));
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  response.end(`${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`);
}

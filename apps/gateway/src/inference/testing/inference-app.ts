import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Global, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { hashApiKey, mintApiKey, VerifyKey, type OwnedPolicy, type Principal } from '@libs/contracts';
import {
  CallerCredentials,
  createProviderAdapters,
  InferenceEngine,
  LEFTOVER_BOUNDS,
  LeftoverReads,
  monotonicMs,
  parseCatalogue,
  parsePercent,
  ProviderHealth,
  resolveModel,
  SharedCredentials,
  UpstreamHttp,
  type CatalogueSource,
  type CredentialVault,
} from '@libs/inference';
import { AppExceptionFilter, Egress, MessageBus, Readiness, ServicesEnv } from '@libs/platform';
import { aPrincipal, FakeMessageBus } from '@libs/platform/testing';
import { AuthModule } from '../../auth/auth.module';
import type { GatewayEnv } from '../../gateway.env';
import { CallContents } from '../../generations/call-contents';
import { ContentLog } from '../../generations/content-log';
import { GenerationRecorder } from '../../generations/generation-recorder';
import { GenerationsController } from '../../generations/generations.controller';
import { GenerationsService } from '../../generations/generations.service';
import type { FakeGenerationContents } from '../../generations/testing/fake-generation-contents';
import { API_PREFIX, prepareEdge } from '../../http/edge';
import { createEdgeAdapter } from '../../http/edge-adapter';
import { HttpModule } from '../../http/http.module';
import { InFlight } from '../../http/in-flight';
import type { InferenceLimits } from '../../limits/inference-limits';
import type { PdfMeter } from '../../parsers/pdf-meter';
import type { Plugin } from '../../plugins/plugin';
import { Plugins } from '../../plugins/plugins';
import { createServerToolEngine } from '../../server-tools/create-server-tool-engine';
import type { ServerTool } from '../../server-tools/server-tool';
import { CallReplier } from '../call-replier';
import { ChatCompletionsController } from '../chat-completions.controller';
import { EmbeddingsController } from '../embeddings.controller';
import { STREAM_PACE } from '../event-stream-reply';
import { InferenceRouting } from '../../routing/inference-routing';
import { InferenceService } from '../inference.service';
import { MessagesController } from '../messages.controller';
import { ResponsesController } from '../responses.controller';
import { TranscriptionIntake } from '../transcription-intake';
import { TranscriptionReplier } from '../transcription-replier';
import { TranscriptionService } from '../transcription.service';
import { UPLOAD_PACE } from '../transcription-upload';
import { TranscriptionsController } from '../transcriptions.controller';
import { FakeBooks } from './fake-books';
import { catalogueText } from './inference-catalogue';

/** What the upstream of the specs may take for a recording. */
export const TRANSCRIPTION_TIMEOUT_MS = 4_000;

/** A request as far as it has come to the upstream. */
export interface UpstreamArrival {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  bytes: number;
  state: 'arriving' | 'whole' | 'broken';
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** Every PDF file counts as what a provider may read of it at most. */
const NO_METER = { measure: async () => undefined } as unknown as PdfMeter;

const silent = { log() {}, error() {}, warn() {}, debug() {} };

/** The gateway's inference routes over real HTTP, with an upstream whose every answer the test writes. */
export class InferenceApp {
  readonly key = mintApiKey('sluice', 'api');
  readonly managementKey = mintApiKey('sluice', 'management');
  /** A key of another workspace. */
  readonly foreignKey = mintApiKey('sluice', 'api');
  readonly books = new FakeBooks();
  readonly recorder = new GenerationRecorder(this.books, async (opening) => opening, silent);
  readonly inFlight = new InFlight();
  /** Bodies the upstream got. */
  readonly upstreamCalls: Buffer[] = [];
  /** Requests the upstream got, or began to get. */
  readonly upstreamArrivals: UpstreamArrival[] = [];
  /** Calls whose connection was closed before their answer was through. */
  upstreamAborts = 0;
  answer: Handler = (_request, response) => void response.end('{}');
  /** Called with the head of a request; true where it has answered, without the body. */
  answerHead: (arrival: UpstreamArrival, response: ServerResponse) => boolean = () => false;
  readonly uploadPace = { ...UPLOAD_PACE };
  readonly streamPace = { ...STREAM_PACE };
  /** Calls end as soon as their callers disconnect, unless a test allows leftover reads. */
  readonly leftoverBounds = { ...LEFTOVER_BOUNDS, mostReads: 0 };
  readonly leftovers = new LeftoverReads(this.leftoverBounds);
  /** Where callers keep keys of their own. */
  vault: CredentialVault = { credentialsOf: () => [], open: async () => null, noteVerdict: () => undefined };
  /** Of the workspace and of the key. */
  policies: readonly OwnedPolicy[] = [];
  /** What the limits say to a call; null where there are none. */
  admission: Promise<void> | null = null;
  private app: NestFastifyApplication;
  private upstream: Server;
  private readonly http = new UpstreamHttp();

  /** Null where nothing is kept. */
  contentLog: ContentLog | null = null;

  private constructor(
    private readonly tools: readonly ServerTool[],
    private readonly contents: FakeGenerationContents | null,
    private readonly plugins: readonly Plugin[],
  ) {}

  /** What is said in calls is kept where there is somewhere to keep it. */
  static async start(
    tools: readonly ServerTool[] = [],
    contents: FakeGenerationContents | null = null,
    plugins: readonly Plugin[] = [],
  ): Promise<InferenceApp> {
    const app = new InferenceApp(tools, contents, plugins);
    await app.listen();
    return app;
  }

  get port(): number {
    return (this.app.getHttpServer().address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}${API_PREFIX}`;
  }

  post(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}/${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      ...init,
    });
  }

  async close(): Promise<void> {
    this.app.getHttpServer().closeAllConnections();
    this.upstream.closeAllConnections();
    await this.app.close();
    await this.http.close();
    this.upstream.close();
  }

  private async listen(): Promise<void> {
    this.upstream = createServer(
      (request, response) => void this.onUpstreamCall(request, response).catch(() => undefined),
    ).listen(0, '127.0.0.1');
    await once(this.upstream, 'listening');
    const { engine, routing } = this.inference();
    const serverTools = createServerToolEngine({ engine, routing, serviceName: 'sluice', tools: this.tools });
    const plugins = new Plugins(this.plugins, (name) => resolveModel(name, routing.catalogue()));
    const limits = {
      admit: () => this.admission && { decided: this.admission, used: () => undefined },
    } as unknown as InferenceLimits;
    const service = new InferenceService(engine, routing, this.recorder, serverTools, plugins, limits, NO_METER);
    const noLines = { get: async () => null, content: async () => null };
    const nameOf = (slug: string): string | null => routing.providerName(slug);
    const generations = new GenerationsService(this.books, nameOf, this.contents, noLines);
    this.contentLog = this.contents && new ContentLog(this.contents, silent);
    const callContents = this.contentLog && new CallContents(this.contentLog);
    const env = { TRANSCRIPTION_TIMEOUT_MS } as GatewayEnv;
    const transcriptions = new TranscriptionService(engine, routing, this.recorder, limits, env);
    const intake = new TranscriptionIntake(new Egress({ allowCidrs: [] }), this.uploadPace);
    const bus = new FakeMessageBus().answers(VerifyKey, ({ keyHash }) => ({ principal: this.principalOf(keyHash) }));

    const replier = new CallReplier(
      service,
      new ServicesEnv().SERVICE_NAME,
      callContents,
      this.streamPace,
      this.leftovers,
    );

    @Global()
    @Module({
      providers: [
        { provide: MessageBus, useValue: bus },
        { provide: GenerationsService, useValue: generations },
        {
          provide: TranscriptionReplier,
          useValue: new TranscriptionReplier(intake, transcriptions, 'sluice', this.leftovers),
        },
        { provide: CallReplier, useValue: replier },
      ],
      exports: [MessageBus, CallReplier, TranscriptionReplier, GenerationsService],
    })
    class WorldModule {}

    const module = await Test.createTestingModule({
      imports: [WorldModule, AuthModule, HttpModule],
      controllers: [
        ChatCompletionsController,
        ResponsesController,
        MessagesController,
        EmbeddingsController,
        TranscriptionsController,
        GenerationsController,
      ],
    }).compile();
    const adapter = createEdgeAdapter();
    this.app = module.createNestApplication<NestFastifyApplication>(adapter, { bodyParser: false, logger: false });
    this.app.setGlobalPrefix(API_PREFIX);
    this.app.useGlobalFilters(new AppExceptionFilter(silent));
    prepareEdge(this.app, { readiness: new Readiness(), inFlight: this.inFlight, serviceName: 'sluice' });
    await this.app.listen(0, '127.0.0.1');
  }

  private inference(): { engine: InferenceEngine; routing: InferenceRouting } {
    const { port } = this.upstream.address() as AddressInfo;
    const catalogue = parseCatalogue([{ name: 'test.yaml', text: catalogueText(port) }]);
    const adapters = createProviderAdapters(this.http);
    const shared = new SharedCredentials({ TEST_KEY: 'upstream-secret' });
    const credentials = new CallerCredentials(shared, {
      credentialsOf: (...of) => this.vault.credentialsOf(...of),
      open: (...of) => this.vault.open(...of),
      noteVerdict: (...of) => this.vault.noteVerdict(...of),
    });
    const engine = new InferenceEngine({
      catalogue: () => catalogue,
      adapters,
      credentials,
      health: new ProviderHealth(monotonicMs),
      clock: monotonicMs,
      dice: () => 0,
    });
    const source = { current: () => catalogue } as CatalogueSource;
    return { engine, routing: new InferenceRouting(source, adapters, shared, { credentials, fee: parsePercent('5') }) };
  }

  private async onUpstreamCall(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrival: UpstreamArrival = { path: request.url!, headers: request.headers, bytes: 0, state: 'arriving' };
    this.upstreamArrivals.push(arrival);
    const isAnswered = this.answerHead(arrival, response);
    const body = await takeBody(request, arrival);
    if (isAnswered) return;
    this.upstreamCalls.push(body);
    response.once('close', () => {
      if (!response.writableFinished) this.upstreamAborts += 1;
    });
    this.answer(request, response, body);
  }

  private principalOf(keyHash: string): Principal {
    const isForeign = keyHash === hashApiKey(this.foreignKey);
    const isManagement = keyHash === hashApiKey(this.managementKey);
    return aPrincipal({
      keyHash,
      kind: isManagement ? 'management' : 'api',
      organizationId: 'acme',
      workspaceId: isManagement ? null : isForeign ? 'elsewhere' : 'workspace',
      policies: this.policies,
    });
  }
}

async function takeBody(request: IncomingMessage, arrival: UpstreamArrival): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      arrival.bytes += chunk.length;
    }
    arrival.state = 'whole';
  } catch (error) {
    arrival.state = 'broken';
    throw error;
  }
  return Buffer.concat(chunks);
}

import { answerChat } from './chat/chat';
import { answerEmbeddings } from './embeddings/embeddings';
import { answerMessage, countMessageTokens } from './messages/messages';
import { listModels, showModel } from './models';
import { answerResponse } from './responses/responses';
import { recording } from './media/recording';
import { answerTranscription } from './transcriptions/transcriptions';
import { jsonReply, type Handle, type Reply } from './http/reply';
import { MessageBatches } from './batches/message-batches';
import { OpenaiBatches } from './batches/openai-batches';
import { Files } from './files/files';
import { VideoJobs } from './videos/video-jobs';
import { VideoTasks } from './videos/video-tasks';
import { Videos } from './videos/videos';
import { AnthropicReports } from './reports/anthropic-reports';
import { ChargeControl } from './reports/charge-control';
import { OpenaiReports } from './reports/openai-reports';
import type { ChargeBook } from './reports/charge-book';
import type { InferenceStart } from './behaviours/inference-start';
import type { Route } from './http/route-table';

const MEBIBYTE = 1024 * 1024;
const JSON_LIMIT_BYTES = 32 * MEBIBYTE;
const AUDIO_LIMIT_BYTES = 30 * MEBIBYTE;
const BATCH_LIMIT_BYTES = 128 * MEBIBYTE;

export interface RouteOptions {
  readonly videoMs: number;
  readonly batchMs: number;
}

export interface SandboxRoutes {
  readonly routes: readonly Route[];
  /** Stops the batches that still run. */
  readonly close: () => void;
}

/** Everything the provider answers, and the stores behind it. */
export function createRoutes(start: InferenceStart, options: RouteOptions): SandboxRoutes {
  const chat: Handle = (call) => answerChat(start, call);
  const responses: Handle = (call) => answerResponse(start, call);
  const messages: Handle = (call) => answerMessage(start, call);
  const embeddings: Handle = (call) => answerEmbeddings(start, call);
  const files = new Files();
  const videoJobs = new VideoJobs(start, options.videoMs);
  const batchStart = start.forBatches();
  const batchable = new Map<string, Handle>([
    ['/v1/chat/completions', (call) => answerChat(batchStart, call)],
    ['/v1/responses', (call) => answerResponse(batchStart, call)],
    ['/v1/embeddings', (call) => answerEmbeddings(batchStart, call)],
  ]);
  const batches = new OpenaiBatches(files, batchable, options.batchMs);
  const messageBatches = new MessageBatches((call) => answerMessage(batchStart, call), options.batchMs);
  const routes: Route[] = [
    { ...get('/health', () => jsonReply({ status: 'ok' })), isOpen: true },
    { ...get('/sandbox/recording.wav', showRecording), isOpen: true },
    get('/v1/models', listModels),
    get('/v1/models/{id}', showModel),
    post('/v1/chat/completions', chat),
    post('/v1/responses', responses),
    post('/v1/messages', messages),
    post('/v1/messages/count_tokens', (call) => countMessageTokens(start, call)),
    post('/v1/embeddings', embeddings),
    post('/v1/audio/transcriptions', (call) => answerTranscription(start, call), AUDIO_LIMIT_BYTES),
    ...videoRoutes(new Videos(videoJobs)),
    ...videoTaskRoutes(new VideoTasks(videoJobs)),
    ...fileRoutes(files),
    ...batchRoutes(batches),
    ...messageBatchRoutes(messageBatches),
    ...countRoutes(start),
    ...reportRoutes(start.charges),
  ];
  return { routes, close: () => [batches, messageBatches].forEach((store) => store.close()) };
}

/** A recording to try transcription with. */
function showRecording(): Reply {
  return { kind: 'body', status: 200, contentType: 'audio/wav', body: recording };
}

function videoRoutes(videos: Videos): Route[] {
  return [
    post('/v1/videos', (call) => videos.create(call)),
    post('/v1/videos/extensions', (call) => videos.extend(call)),
    get('/v1/videos', () => videos.list()),
    get('/v1/videos/{id}', (call) => videos.show(call)),
    get('/v1/videos/{id}/content', (call) => videos.content(call)),
    remove('/v1/videos/{id}', (call) => videos.remove(call)),
  ];
}

function videoTaskRoutes(tasks: VideoTasks): Route[] {
  const path = '/v1/contents/generations/tasks';
  return [
    post(path, (call) => tasks.create(call)),
    get(path, (call) => tasks.list(call)),
    get(`${path}/{id}`, (call) => tasks.show(call)),
  ];
}

function fileRoutes(files: Files): Route[] {
  return [
    post('/v1/files', (call) => files.create(call), BATCH_LIMIT_BYTES),
    get('/v1/files', () => files.list()),
    get('/v1/files/{id}', (call) => files.show(call)),
    get('/v1/files/{id}/content', (call) => files.content(call)),
    remove('/v1/files/{id}', (call) => files.remove(call)),
  ];
}

function batchRoutes(batches: OpenaiBatches): Route[] {
  return [
    post('/v1/batches', (call) => batches.create(call)),
    get('/v1/batches', (call) => batches.list(call)),
    get('/v1/batches/{id}', (call) => batches.show(call)),
    post('/v1/batches/{id}/cancel', (call) => batches.cancel(call)),
  ];
}

function messageBatchRoutes(batches: MessageBatches): Route[] {
  return [
    post('/v1/messages/batches', (call) => batches.create(call), BATCH_LIMIT_BYTES),
    get('/v1/messages/batches', (call) => batches.list(call)),
    get('/v1/messages/batches/{id}', (call) => batches.show(call)),
    get('/v1/messages/batches/{id}/results', (call) => batches.results(call)),
    post('/v1/messages/batches/{id}/cancel', (call) => batches.cancel(call)),
    remove('/v1/messages/batches/{id}', (call) => batches.remove(call)),
  ];
}

/** Reading the counters, and clearing them, is itself counted afterwards. */
function countRoutes(start: InferenceStart): Route[] {
  const path = '/sandbox/calls';
  const reset: Handle = () => {
    start.counts.reset();
    start.reset();
    return jsonReply(start.counts.snapshot());
  };
  return [get(path, () => jsonReply(start.counts.snapshot())), remove(path, reset)];
}

function reportRoutes(book: ChargeBook): Route[] {
  const openai = new OpenaiReports(book);
  const anthropic = new AnthropicReports(book);
  const control = new ChargeControl(book);
  return [
    get('/v1/organization/usage/completions', (call) => openai.completions(call)),
    get('/v1/organization/usage/embeddings', (call) => openai.embeddings(call)),
    get('/v1/organization/costs', (call) => openai.costs(call)),
    get('/v1/organizations/usage_report/messages', (call) => anthropic.usage(call)),
    get('/v1/organizations/cost_report', (call) => anthropic.costs(call)),
    post('/sandbox/charges', (call) => control.change(call)),
    remove('/sandbox/charges', () => control.clear()),
  ];
}

function get(path: string, handle: Handle): Route {
  return { method: 'GET', path, limitBytes: 0, handle };
}

function post(path: string, handle: Handle, limitBytes: number = JSON_LIMIT_BYTES): Route {
  return { method: 'POST', path, limitBytes, handle };
}

function remove(path: string, handle: Handle): Route {
  return { method: 'DELETE', path, limitBytes: MEBIBYTE, handle };
}

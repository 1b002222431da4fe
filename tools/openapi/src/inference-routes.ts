import type { ErrorCode } from '@libs/errors';
import { transcriptionApi, videosApi } from '@libs/inference';
import { formOf } from './form-schema';
import type { Routes } from './route';

const CALL_ERRORS: readonly ErrorCode[] = [
  'payment_required',
  'not_found',
  'payload_too_large',
  'provider_unavailable',
  'provider_overloaded',
  'timeout',
];
const STREAM = ['text/event-stream'];
const MESSAGES = [{ role: 'user', content: 'Hello!' }];
const LIST_QUERY = {
  limit: 'Entries on the page, 1 to 1000.',
  offset: 'Entries before the page.',
};

const IGNORED_FOR_EMBEDDINGS = ['cache_control', 'debug', 'plugins', 'route', 'stop_server_tools_when', 'usage'];

/** Calls to models, and records of these calls. */
export const INFERENCE_ROUTES: Routes = {
  'POST /api/v1/chat/completions': {
    summary: 'Complete a chat',
    body: 'ChatCompletionDto',
    otherMembers: 'passed',
    ignoredMembers: ['usage'],
    answer: 'ChatCompletionAnswer',
    media: STREAM,
    errors: CALL_ERRORS,
    example: { model: 'sandbox/chat', messages: MESSAGES },
  },
  'POST /api/v1/responses': {
    summary: 'Create a response; nothing is stored',
    body: 'ResponsesDto',
    otherMembers: 'passed',
    ignoredMembers: ['usage'],
    furtherMembers: {
      stream_options: { type: ['object', 'null'], description: 'Only a provider with the same API gets it.' },
    },
    answer: 'ResponseAnswer',
    media: STREAM,
    errors: CALL_ERRORS,
    example: { model: 'sandbox/chat', input: 'Hello!' },
  },
  'POST /api/v1/messages': {
    summary: 'Create a message',
    body: 'MessagesDto',
    otherMembers: 'passed',
    ignoredMembers: ['debug'],
    answer: 'MessageAnswer',
    media: STREAM,
    errors: CALL_ERRORS,
    errorShape: 'MessagesError',
    example: { model: 'sandbox/chat', max_tokens: 100, messages: MESSAGES },
  },
  'POST /api/v1/messages/count_tokens': {
    summary: 'Count the tokens of a message',
    body: 'MessagesDto',
    otherMembers: 'passed',
    ignoredMembers: ['debug'],
    answer: 'TokenCountAnswer',
    errors: CALL_ERRORS,
    errorShape: 'MessagesError',
    example: { model: 'sandbox/chat', messages: MESSAGES },
  },
  'POST /api/v1/embeddings': {
    summary: 'Embed texts',
    body: 'EmbeddingsDto',
    otherMembers: 'passed',
    ignoredMembers: IGNORED_FOR_EMBEDDINGS,
    answer: 'EmbeddingsAnswer',
    errors: CALL_ERRORS,
    example: { model: 'sandbox/embeddings', input: 'Hello!' },
  },
  'POST /api/v1/audio/transcriptions': {
    summary: 'Transcribe a recording, as JSON or as a form with a file',
    body: 'TranscriptionJsonDto',
    otherMembers: 'ignored',
    form: formOf(transcriptionApi.formFields, 'file', ['model', 'file']),
    answer: 'TranscriptAnswer',
    errors: CALL_ERRORS,
  },
  'POST /api/v1/videos': {
    summary: 'Begin to make a video',
    body: 'VideoDto',
    otherMembers: 'ignored',
    furtherMembers: {
      seconds: { type: ['integer', 'string', 'null'], description: "OpenAI's name of `duration`." },
      input_reference: {
        type: ['string', 'object', 'null'],
        description: 'The first frame, as OpenAI names it: a URL, or an object with `image_url`.',
      },
    },
    form: formOf(videosApi.formFields, 'input_reference', ['model']),
    answer: 'VideoAnswer',
    errors: CALL_ERRORS,
    example: { model: 'sandbox/video', prompt: 'A heron lands.', duration: 3 },
  },
  'GET /api/v1/videos/models': { summary: 'List what models of videos can do', answer: 'VideoModelsAnswer' },
  'GET /api/v1/videos/:id': { summary: 'Show a video job', answer: 'VideoAnswer', errors: ['not_found'] },
  'HEAD /api/v1/videos/:id/content': {
    summary: 'Show the size of a video',
    answer: null,
    query: { index: 'Which of the films. Default: 0.' },
    statuses: [200, 206],
    errors: ['not_found', 'gone', 'range_not_satisfiable'],
  },
  'GET /api/v1/videos/:id/content': {
    summary: 'Read a video, or a range of its bytes',
    answer: null,
    media: ['video/mp4'],
    query: { index: 'Which of the films. Default: 0.' },
    statuses: [200, 206],
    errors: ['not_found', 'gone', 'range_not_satisfiable'],
  },
  'POST /api/v1/batches': {
    summary: 'Submit a batch',
    body: {
      type: 'object',
      required: ['endpoint', 'model', 'requests'],
      properties: {
        endpoint: {
          enum: ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'],
        },
        model: { type: 'string', maxLength: 256 },
        completion_window: { const: '24h' },
        provider: {
          type: ['object', 'null'],
          properties: {
            only: {
              type: ['array', 'null'],
              minItems: 1,
              maxItems: 100,
              items: { type: 'string', minLength: 1 },
              description: 'Providers that may run the batch.',
            },
          },
        },
        callback_url: { type: ['string', 'null'] },
        requests: {
          type: 'array',
          items: {
            type: 'object',
            required: ['custom_id', 'body'],
            properties: { custom_id: { type: 'string' }, body: { type: 'object' } },
          },
        },
      },
    },
    otherMembers: 'ignored',
    answer: 'BatchJobAnswer',
    errors: CALL_ERRORS,
    example: {
      endpoint: '/v1/chat/completions',
      model: 'sandbox/chat',
      requests: [{ custom_id: 'first', body: { messages: MESSAGES } }],
    },
  },
  'GET /api/v1/batches': {
    summary: 'List batches, newest first',
    answer: 'BatchesAnswer',
    query: {
      limit: 'Batches on the page, 1 to 100. Default: 20.',
      after: 'Id of the last batch of the page before.',
      status: 'Only batches with this status.',
      created_after: 'Unix seconds, or a time in ISO 8601.',
      created_before: 'Unix seconds, or a time in ISO 8601.',
    },
  },
  'GET /api/v1/batches/:id': {
    summary: 'Show a batch, with its results once it is over',
    answer: 'BatchJobAnswer',
    query: { results: '`false` leaves the results out.' },
    errors: ['not_found', 'gone'],
  },
  'POST /api/v1/batches/:id/cancel': {
    summary: 'Cancel a batch',
    answer: 'BatchJobAnswer',
    errors: ['not_found', 'conflict'],
  },
  'POST /api/v1/batches/:id/retry': {
    summary: 'Submit the failed requests of a batch again, as a new batch',
    answer: 'BatchJobAnswer',
    errors: ['not_found', 'conflict', 'payment_required'],
  },
  'DELETE /api/v1/batches/:id': {
    summary: 'Delete a batch that is over',
    answer: 'BatchDeletedAnswer',
    errors: ['not_found', 'conflict', 'provider_unavailable'],
  },
  'GET /api/v1/generation': {
    summary: 'Show what became of a call',
    answer: 'GenerationAnswer',
    query: { id: 'Id of the call, as the header X-Generation-Id had it.' },
    errors: ['not_found'],
  },
  'GET /api/v1/generation/content': {
    summary: 'Show what was said in a call',
    answer: 'GenerationContentAnswer',
    query: { id: 'Id of the call, as the header X-Generation-Id had it.' },
    errors: ['not_found'],
  },
  'GET /api/v1/models': {
    summary: 'List models',
    answer: 'ModelsAnswer',
    query: 'ListModelsQueryDto',
  },
  'GET /api/v1/models/user': {
    summary: 'List the models that the key may use',
    answer: 'ModelsAnswer',
    query: { ...LIST_QUERY, batch: '`true` gives the entries `<id>:batch`, with the prices of batches.' },
  },
  'GET /api/v1/embeddings/models': {
    summary: 'List models that embed texts',
    answer: 'ModelsAnswer',
    query: { ...LIST_QUERY, batch: '`true` gives the entries `<id>:batch`, with the prices of batches.' },
  },
  'GET /api/v1/models/count': { summary: 'Count models', answer: 'ModelCountAnswer', query: 'ListModelsQueryDto' },
  'GET /api/v1/models/:id': {
    summary: 'Show a model by its id with the slash escaped, or by an alias',
    answer: 'ModelEntry',
    errors: ['not_found'],
  },
  'GET /api/v1/models/:author/:slug': { summary: 'Show a model', answer: 'ModelEntry', errors: ['not_found'] },
  'GET /api/v1/models/:author/:slug/endpoints': {
    summary: 'List the endpoints of a model',
    answer: 'EndpointsAnswer',
    errors: ['not_found'],
  },
  'GET /api/v1/models/:id/endpoints': {
    summary: 'List the endpoints of a model by its id with the slash escaped, or by an alias',
    answer: 'EndpointsAnswer',
    errors: ['not_found'],
  },
  'GET /api/v1/model/:author/:slug': { summary: 'Show a model', answer: 'ModelAnswer', errors: ['not_found'] },
  'GET /api/v1/providers': { summary: 'List providers', answer: 'ProvidersAnswer' },
};

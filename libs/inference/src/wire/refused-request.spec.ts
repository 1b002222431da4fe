import { ERROR_CODES, wireErrorType, type ErrorCode } from '@libs/errors';
import { attemptOf } from '../routing/attempt';
import { failedByAll } from '../routing/key-outcomes';
import { aModel, anEndpoint, anOwnCredential } from '../testing';
import { upstreamError } from './upstream-error';

const endpoint = anEndpoint();
const { provider } = endpoint;
const calledWithOwnKey = { model: aModel({ endpoints: [endpoint] }), endpoint, credential: anOwnCredential() };

/** What providers answer, as their documents and their users' reports show it: the type, who, the status, the body. */
const recorded: readonly (readonly [string, string, number, unknown])[] = [
  [
    'context_length_exceeded',
    'OpenAI',
    400,
    openAi(
      'context_length_exceeded',
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
    ),
  ],
  [
    'context_length_exceeded',
    'DashScope',
    400,
    openAi('invalid_parameter_error', 'Range of input length should be [1, 129024]'),
  ],
  [
    'context_length_exceeded',
    'Moonshot',
    400,
    openAi(null, 'Invalid request: Your request exceeded model token limit: 131072'),
  ],
  ['context_length_exceeded', 'Z.AI', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }],
  [
    'content_policy_violation',
    'OpenAI',
    400,
    openAi('cyber_policy', 'This content was flagged for possible cybersecurity risk.'),
  ],
  ['image_download_failed', 'Anthropic', 400, anthropic("This URL is disallowed by the website's robots.txt file.")],
  ['context_length_exceeded', 'Anthropic', 400, anthropic('prompt is too long: 210031 tokens > 200000 maximum')],
  [
    'context_length_exceeded',
    'Gemini',
    400,
    google('The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).'),
  ],
  [
    'context_length_exceeded',
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 40131 tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      code: '3051',
    },
  ],
  [
    'context_length_exceeded',
    'vLLM',
    400,
    openAi(null, 'The decoder prompt (length 21535) is longer than the maximum model length of 16384.'),
  ],
  [
    'token_limit_exceeded',
    'Anthropic',
    400,
    anthropic(
      'input length and `max_tokens` exceed context limit: 190012 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    ),
  ],
  [
    'token_limit_exceeded',
    'TGI',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`',
      error_type: 'validation',
    },
  ],
  [
    'token_limit_exceeded',
    'vLLM',
    400,
    openAi(
      null,
      "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your request has 1000 input tokens (4000 > 4096 - 1000).",
    ),
  ],
  [
    'max_tokens_exceeded',
    'OpenAI',
    400,
    openAi(
      'invalid_value',
      'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
    ),
  ],
  [
    'max_tokens_exceeded',
    'Anthropic',
    400,
    anthropic(
      'max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022',
    ),
  ],
  [
    'max_tokens_exceeded',
    'Gemini',
    400,
    google(
      'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).',
    ),
  ],
  [
    'max_tokens_exceeded',
    'Groq',
    400,
    openAi(
      null,
      '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model',
    ),
  ],
  [
    'max_tokens_exceeded',
    'DeepSeek',
    400,
    openAi('invalid_request_error', 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'),
  ],
  [
    'max_tokens_exceeded',
    'Bedrock',
    400,
    {
      message:
        'The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.',
    },
  ],
  [
    'string_too_long',
    'OpenAI',
    400,
    openAi(
      'string_above_max_length',
      "Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760, but got a string with length 10485761 instead.",
    ),
  ],
  ['string_too_long', 'Anthropic', 400, anthropic('tools.0.custom.name: String should have at most 128 characters')],
  [
    'invalid_prompt',
    'OpenAI',
    400,
    openAi('invalid_prompt', 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.'),
  ],
  [
    'content_policy_violation',
    'Azure',
    400,
    openAi(
      'content_filter',
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ),
  ],
  ['content_policy_violation', 'Anthropic', 400, anthropic('Output blocked by content filtering policy')],
  [
    'content_policy_violation',
    'xAI',
    403,
    {
      code: 'The caller does not have permission',
      error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO',
    },
  ],
  [
    'content_policy_violation',
    'OpenRouter',
    403,
    {
      error: {
        code: 403,
        message:
          'openai/gpt-5 requires moderation on OpenInference. Your input was flagged for "violence". No credits were charged.',
        metadata: { reasons: ['violence'] },
      },
    },
  ],
  [
    'content_policy_violation',
    'Alibaba',
    400,
    openAi('data_inspection_failed', 'Input data may contain inappropriate content.'),
  ],
  ['refusal', 'OpenRouter', 400, gateway('refusal', 'The model refused to answer')],
  [
    'invalid_image',
    'OpenAI',
    400,
    openAi(
      'invalid_value',
      "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
    ),
  ],
  ['invalid_image', 'OpenAI', 400, openAi('invalid_base64_image', 'Invalid base64 image.')],
  ['invalid_image', 'Anthropic', 400, anthropic('messages.0.content.0.image.source.base64: Could not process image')],
  [
    'invalid_image',
    'Anthropic',
    400,
    anthropic(
      'The image was specified using the image/jpeg media type, but the image appears to be an image/png image',
    ),
  ],
  ['invalid_image', 'Gemini', 400, google('Unable to process input image. Please retry or report in the forum.')],
  ['invalid_image', 'Gemini', 400, google('Provided image is not valid.')],
  [
    'invalid_image',
    'vLLM',
    400,
    openAi(null, 'Failed to load image: cannot identify image file <_io.BytesIO object at 0x7f0000000000>'),
  ],
  [
    'image_too_large',
    'Anthropic',
    400,
    anthropic('messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes'),
  ],
  [
    'image_too_large',
    'Anthropic',
    400,
    anthropic(
      'messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels',
    ),
  ],
  ['image_too_large', 'OpenAI', 400, openAi('image_file_too_large', 'Image file too large.')],
  [
    'image_too_small',
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: 'Image dimensions are too small: Image must have at least 512 total pixels',
    },
  ],
  [
    'image_too_small',
    'Alibaba',
    400,
    openAi(
      'invalid_parameter_error',
      'The image length and width do not meet the model restrictions. [height:1 or width:1 must be larger than 10]',
    ),
  ],
  [
    'unsupported_image_format',
    'OpenAI',
    400,
    openAi(
      'invalid_image_format',
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    ),
  ],
  ['unsupported_image_format', 'OpenAI', 400, openAi(null, 'Invalid MIME type. Only image types are supported.')],
  [
    'unsupported_image_format',
    'Anthropic',
    400,
    anthropic(
      "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),
  ],
  ['unsupported_image_format', 'Gemini', 400, google('Unsupported MIME type: image/tiff')],
  [
    'image_download_failed',
    'OpenAI',
    400,
    openAi('invalid_image_url', 'Timeout while downloading https://pictures.example/cat.png.'),
  ],
  [
    'image_download_failed',
    'OpenAI',
    400,
    openAi('invalid_value', 'Error while downloading https://pictures.example/cat.png. Upstream status code: 403.'),
  ],
  [
    'image_download_failed',
    'Anthropic',
    400,
    anthropic('Unable to download the file. Please verify the URL and try again.'),
  ],
  ['image_download_failed', 'Gemini', 400, google('Cannot fetch content from the provided URL.')],
  [
    'image_download_failed',
    'Mistral',
    400,
    {
      object: 'error',
      message: "File could not be fetched from url 'https://pictures.example/cat.png'",
      type: 'invalid_request_file',
      code: '3310',
    },
  ],
  ['image_not_found', 'Groq', 400, openAi(null, 'failed to retrieve media: received status code: 404')],
  ['image_not_found', 'vLLM', 400, openAi(null, "404, message='Not Found', url='https://pictures.example/cat.png'")],
  ['image_not_found', 'OpenAI', 404, openAi('image_file_not_found', 'Image file not found.')],
  [
    'payload_too_large',
    'Anthropic',
    413,
    {
      type: 'error',
      error: { type: 'request_too_large', message: 'Request exceeds the maximum allowed number of bytes.' },
    },
  ],
  [
    'unprocessable',
    'Mistral',
    422,
    { detail: [{ type: 'missing', loc: ['body', 'messages'], msg: 'Field required' }] },
  ],
  ['invalid_request', 'Anthropic', 400, anthropic('messages.0.content: Too many images: the maximum is 100')],
  ['invalid_request', 'OpenAI', 400, openAi('unknown_parameter', "Unknown parameter: 'foo'.")],
  ['rate_limit_exceeded', 'OpenAI', 429, openAi('rate_limit_exceeded', 'Rate limit reached for gpt-5')],
  [
    'provider_overloaded',
    'Anthropic',
    529,
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  ],
  ['provider_unavailable', 'OpenAI', 401, openAi('invalid_api_key', 'Incorrect API key provided')],
  [
    'provider_unavailable',
    'OpenAI',
    404,
    openAi('model_not_found', 'The model `gpt-9` does not exist or you do not have access to it.'),
  ],
  [
    'provider_unavailable',
    'OpenAI',
    403,
    openAi('unsupported_country_region_territory', 'Country, region, or territory not supported'),
  ],
  [
    'provider_unavailable',
    'OpenAI',
    429,
    openAi('insufficient_quota', 'You exceeded your current quota, please check your plan and billing details.'),
  ],
  ['provider_unavailable', 'OpenRouter', 402, gateway('payment_required', 'Insufficient credits')],
  ['provider_unavailable', 'Cloudflare', 520, { success: false }],
  ['provider_unavailable', 'Fireworks', 412, { error: { message: 'Account acme is suspended until it is paid.' } }],
  ['provider_unavailable', 'Google', 405, { error: { message: 'Method Not Allowed' } }],
  [
    'precondition_failed',
    'Gemini',
    412,
    google('The File abc-123 is not in an ACTIVE state and usage is not allowed.', 'FAILED_PRECONDITION'),
  ],
  ['provider_overloaded', 'Groq', 498, openAi('capacity_exceeded', 'Flex tier capacity exceeded')],
  ['provider_unavailable', 'Cohere', 498, { message: 'invalid api token' }],
  [
    'provider_unavailable',
    'Bedrock',
    424,
    { message: 'The request failed due to an error while processing the model.' },
  ],
  ['unmapped', 'Cohere', 499, { message: 'request cancelled' }],
  ['server', 'Sluice', 500, gateway('server', 'Internal error')],
  ['timeout', 'Cloudflare', 524, { success: false }],
];

function openAi(code: string | null, message: string): unknown {
  return { error: { message, type: 'invalid_request_error', param: null, code } };
}

function anthropic(message: string): unknown {
  return { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_01' };
}

function google(message: string, status = 'INVALID_ARGUMENT'): unknown {
  return { error: { code: 400, message, status } };
}

function gateway(errorType: string, message: string): unknown {
  return { error: { code: 400, message, metadata: { error_type: errorType } } };
}

/** What providers answer to a caller's own key, or where they do not know the model: refusals of the whole call. */
const recordedOfCalls: typeof recorded = [
  ['authentication', 'OpenAI', 401, openAi('invalid_api_key', 'Incorrect API key provided: sk-own.')],
  [
    'authentication',
    'Anthropic',
    403,
    { error: { type: 'permission_error', message: 'Your API key may not do this.' } },
  ],
  ['payment_required', 'DeepSeek', 402, openAi('invalid_request_error', 'Insufficient Balance')],
  ['payment_required', 'OpenAI', 429, openAi('insufficient_quota', 'You exceeded your current quota.')],
  ['payment_required', 'Anthropic', 400, anthropic('Your credit balance is too low to access the Anthropic API.')],
  [
    'payment_required',
    'Fireworks',
    412,
    { error: { code: 'PRECONDITION_FAILED', message: 'Account acme is suspended, possibly due to unpaid invoices.' } },
  ],
  [
    'permission_denied',
    'OpenAI',
    403,
    openAi('unsupported_country_region_territory', 'Country, region, or territory not supported'),
  ],
  ['not_found', 'OpenAI', 404, openAi('model_not_found', 'The model `gpt-9` does not exist')],
];

describe('a refusal', () => {
  it('has a recorded answer for every error type of the interface', () => {
    const types = new Set(Object.keys(ERROR_CODES).map((code) => wireErrorType(code as ErrorCode)));
    expect(types.size).toBe(27);
    const raised = new Set([...recorded, ...recordedOfCalls].map(([meant]) => meant));
    expect([...types].filter((type) => !raised.has(type))).toEqual([]);
  });

  it.each(recordedOfCalls)('of a call with an own key is %s where %s answers %d: %j', (meant, _who, status, body) => {
    const error = upstreamError(provider, status, {}, Buffer.from(JSON.stringify(body)));
    const attempt = attemptOf('chat', calledWithOwnKey, error, 1);
    const { code, message } = failedByAll([attempt, attempt], [error, error]);
    expect({ code, message }).toEqual({
      code: meant,
      message: expect.not.stringMatching(/sk-own|acme|invoice|balance/i),
    });
  });
  it.each(recorded)('is %s where %s answers %d: %j', (meant, _who, status, body) => {
    expect(upstreamError(provider, status, {}, Buffer.from(JSON.stringify(body))).code).toBe(meant);
  });

  it('of another gateway about its own accounts does not become ours', () => {
    for (const errorType of ['authentication', 'payment_required', 'permission_denied', 'not_found', 'server']) {
      const { code } = upstreamError(provider, 400, {}, Buffer.from(JSON.stringify(gateway(errorType, 'no'))));
      expect([errorType, code]).toEqual([errorType, 'invalid_request']);
    }
  });

  it('is judged by the beginning of a long message, in time that grows with it', () => {
    const long = `unknown parameter ${'image '.repeat(200_000)}too small`;
    const { code } = upstreamError(provider, 400, {}, Buffer.from(JSON.stringify(openAi(null, long))));
    expect(code).toBe('invalid_request');
  });
});

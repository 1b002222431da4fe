import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { googleError } from '../dialects/google-generate-content/error';
import type { UpstreamHttp } from '../wire/upstream-http';

const JSON_TYPE = 'application/json';
const EVENT_STREAM_TYPE = 'text/event-stream';

/** The credential of a call to Google. */
export interface GoogleCredential {
  /** Name and value, or nothing. */
  readonly header: readonly string[];
  /** Called if the upstream does not accept the credential (a 401). */
  readonly onRefused?: () => void;
}

/** Puts an API key into a header. It is never part of a URL, which could appear in logs. */
export function apiKeyCredential({ apiKey }: Pick<UpstreamCall, 'apiKey'>): GoogleCredential {
  return { header: apiKey === null ? [] : ['x-goog-api-key', apiKey.reveal()] };
}

/** Calls one method of Google's REST APIs and returns its result in the form that adapters require. */
export class GoogleRest {
  readonly #http: UpstreamHttp;

  constructor(http: UpstreamHttp) {
    this.#http = http;
  }

  async request(path: string, credential: GoogleCredential, call: UpstreamCall): Promise<UpstreamResult> {
    const { status, headers, body } = await this.#http.request(path, headersOf(call, credential, JSON_TYPE), call);
    if (status >= 200 && status < 300) return { status, body };
    if (status === 401) credential.onRefused?.();
    throw googleError(call.endpoint.provider, status, headers, body);
  }

  async stream(path: string, credential: GoogleCredential, call: UpstreamCall): Promise<UpstreamStream> {
    const opened = await this.#http.stream(path, headersOf(call, credential, EVENT_STREAM_TYPE), call);
    if ('read' in opened) return opened;
    if (opened.status === 401) credential.onRefused?.();
    throw googleError(call.endpoint.provider, opened.status, opened.headers, opened.body);
  }
}

function headersOf({ headers = {} }: UpstreamCall, { header }: GoogleCredential, accept: string): string[] {
  return ['content-type', JSON_TYPE, 'accept', accept, ...header, ...Object.entries(headers).flat()];
}

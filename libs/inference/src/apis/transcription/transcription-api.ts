import { TranscriptionDto, TranscriptionJsonDto } from '@libs/contracts';
import type { FormApi } from '../caller-api';

/** `POST /audio/transcriptions`. */
export const transcriptionApi = {
  name: 'transcription',
  body: TranscriptionDto,
  /** Of a request in JSON, which has its recording in a member. */
  jsonBody: TranscriptionJsonDto,
  // `stream` is refused where the members are checked; what is not listed, such as `prompt`, means nothing here.
  formFields: {
    texts: ['model', 'language', 'response_format', 'session_id', 'user'],
    numbers: ['temperature'],
    flags: ['diarize', 'stream'],
    objects: ['provider', 'trace'],
    lists: ['timestamp_granularities', 'keyterms'],
  },
  endUserOf: ({ user }) => user,
} satisfies FormApi & { readonly jsonBody: new () => TranscriptionDto };

import { TranscriptionDto, TranscriptionJsonDto } from '@libs/contracts';
import type { FormApi } from '../caller-api';

/** `POST /audio/transcriptions`. */
export const transcriptionApi = {
  name: 'transcription',
  body: TranscriptionDto,
  /** Class of a JSON request, which has its recording in a field. */
  jsonBody: TranscriptionJsonDto,
  // `stream` is refused when the fields are validated. Fields that are not listed, such as `prompt`, have no effect
  // here.
  formFields: {
    texts: ['model', 'language', 'response_format', 'session_id', 'user'],
    numbers: ['temperature'],
    flags: ['diarize', 'stream'],
    objects: ['provider', 'trace'],
    lists: ['timestamp_granularities', 'keyterms'],
  },
  endUserOf: ({ user }) => user,
} satisfies FormApi & { readonly jsonBody: new () => TranscriptionDto };

import { VideoDto } from '@libs/contracts';
import type { FormApi } from '../caller-api';

/** `POST /videos`. */
export const videosApi = {
  name: 'video',
  body: VideoDto,
  // Media in links and lists are for JSON; the file of a form is OpenAI's `input_reference`.
  formFields: {
    texts: [
      'model',
      'prompt',
      'size',
      'aspect_ratio',
      'resolution',
      'callback_url',
      'previous_job_id',
      'session_id',
      'user',
    ],
    numbers: ['seconds', 'duration', 'seed', 'creativity', 'upscale_factor'],
    flags: ['generate_audio'],
    objects: ['provider', 'trace'],
  },
  endUserOf: ({ user }) => user,
} satisfies FormApi;

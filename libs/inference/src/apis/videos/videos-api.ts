import { VideoDto } from '@libs/contracts';
import type { FormApi } from '../caller-api';

/** `POST /videos`. */
export const videosApi = {
  name: 'video',
  body: VideoDto,
  // In a form the only file is OpenAI's `input_reference`; media in links and lists require JSON.
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

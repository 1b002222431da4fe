import type { VideoView } from '@libs/persistence';
import { API_PREFIX } from '../http/edge';

/** The Video job of interface §2.9. */
export function toVideoObject(video: VideoView, publicUrl: string): object {
  const path = `${API_PREFIX}/videos/${video.id}`;
  const isOver = video.status !== 'pending' && video.status !== 'in_progress';
  return {
    id: video.id,
    status: video.status,
    polling_url: path,
    ...(isOver && { generation_id: video.id }),
    ...(video.status === 'completed' && {
      usage: { cost: Number(video.costUsd ?? 0), is_byok: video.credentialId !== null },
    }),
    ...(video.outputs !== null && {
      unsigned_urls: video.outputs.map((_output, index) => `${publicUrl}${path}/content?index=${index}`),
      expires_at: video.outputsExpireAt,
    }),
    ...(video.errorMessage !== null && { error: video.errorMessage }),
  };
}

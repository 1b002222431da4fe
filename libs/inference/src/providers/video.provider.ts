import type { ProviderAdapter } from './provider';
import type { VideoApi } from '../videos/video-provider';

/** A protocol that makes videos and nothing else. */
export class VideoProvider implements ProviderAdapter {
  constructor(
    readonly protocol: string,
    readonly video: VideoApi,
  ) {}
}

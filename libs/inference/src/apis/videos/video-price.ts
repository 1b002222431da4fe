import type { Usage } from '../../pricing/usage';
import type { VideoRequest } from '../../videos/video-provider';
import type { PriceList } from '../../pricing/price';
import { priceUsage, type Cost } from '../../pricing/price';

/** Frames per second for models that charge by the token: one token for each 1,024 pixels of 24 frames a second. */
const PICTURES_PER_SECOND = 24;
const POINTS_PER_TOKEN = 1_024;

type Priced = Pick<VideoRequest, 'durationSeconds' | 'resolution' | 'width' | 'height'>;

/** Returns the price of a video according to a price list, before the video is made. */
export function quoteVideo(prices: PriceList, video: Priced): Cost {
  const points = video.width * video.height * PICTURES_PER_SECOND * video.durationSeconds;
  return priceUsage(prices, usageOf(Math.ceil(points / POINTS_PER_TOKEN)), {
    videos: 1,
    videoMs: video.durationSeconds * 1_000,
    videoResolution: video.resolution,
  });
}

/** Returns whether only the provider can tell the final price of a video: its tokens are all that it costs. */
export function isPricedByToken({ completion, video, videoSecond, videoSecondByResolution }: PriceList): boolean {
  const others = [video, videoSecond, ...Object.values(videoSecondByResolution ?? {})];
  return completion > 0n && others.every((rate) => !rate);
}

/** Returns the price of this many video tokens. @throws AppError unmapped if the count is not a whole number */
export function priceVideoTokens(prices: PriceList, completionTokens: number): Cost {
  return priceUsage(prices, usageOf(completionTokens));
}

function usageOf(completionTokens: number): Usage {
  return {
    promptTokens: 0,
    completionTokens,
    totalTokens: completionTokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    audioPromptTokens: 0,
    audioCompletionTokens: 0,
    provenance: 'upstream',
  };
}

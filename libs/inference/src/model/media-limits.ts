/**
 * The most tokens that a provider charges for media, with the reason for each number. All reservations use this table.
 */
export const MEDIA_LIMITS = {
  /**
   * A file, a recording or a video of unknown size counts as the longest context of a model that reads such media
   * (Gemini 1.5 Pro; others have a million). 1,000 pages of a PDF (Gemini), 600 (Claude) or an hour of video fill it. A
   * reservation never exceeds the context of the endpoint.
   */
  unknown: 2_000_000,
  /** One second of sound: 32 tokens at Gemini, 10 at OpenAI. */
  secondOfSound: 32,
  /** One second of video: a frame of 258 tokens and 32 of sound at Gemini, which documents about 300. */
  secondOfFilm: 300,
  /**
   * The picture of a PDF page, without the page's text: at least 0.6 of the 4,784 tokens of the newest Claude models,
   * and twice the 1,568 of others; Gemini counts 258 to 1,120.
   */
  pageOfPdf: 3_000,
  /** An answer in sound that OpenAI stores: as long as its models can speak. */
  spokenAnswer: 16_384,
} as const;

/** The most that the models of each family charge for a picture of any size. */
export const PICTURE_LIMITS = {
  /** 92 × 52 patches of 28 pixels (Opus 4.7 and later); 1,568 tokens before. */
  claude: 4_784,
  /** 12 × 2 tiles of 258 tokens: pictures above 3,072 pixels are scaled down. Gemini 3 charges 1,120. */
  gemini: 6_192,
  /** 2,833 and 5,667 tokens for each of 8 tiles. Its tokens cost a thirtieth of those of other models. */
  gpt4oMini: 48_169,
  /** 30,000 patches of 32 pixels at 1.2 tokens: GPT-5.6 accepts pictures of any size unscaled; 12,000 for GPT-5.5. */
  other: 36_000,
} as const;

export type PictureFamily = keyof typeof PICTURE_LIMITS;

/** The most tokens that a provider charges for media, with the reason for each number. All holds use this table. */
export const MEDIA_LIMITS = {
  /**
   * A file, a recording or a film of unknown size: the longest context of a model that reads them (Gemini 1.5 Pro;
   * others have a million). 1,000 pages of a PDF (Gemini) or 600 (Claude) or an hour of film fill it. A hold counts no
   * more than the context of each endpoint.
   */
  unknown: 2_000_000,
  /** A second of sound: 32 at Gemini; 10 at OpenAI. */
  secondOfSound: 32,
  /** A second of film: one frame of 258 and 32 of sound at Gemini, which says about 300. */
  secondOfFilm: 300,
  /**
   * The picture of a page of a PDF, without the text of the page: 0.6 of the 4,784 of the newest Claude models and
   * more, and twice the 1,568 of the others; 258 to 1,120 at Gemini.
   */
  pageOfPdf: 3_000,
  /** An answer in sound that OpenAI keeps: as long as its models speak. */
  spokenAnswer: 16_384,
} as const;

/** What a picture is charged at most by the models of each family, whatever its size. */
export const PICTURE_LIMITS = {
  /** 92 × 52 patches of 28 pixels (Opus 4.7 and later); 1,568 before. */
  claude: 4_784,
  /** 12 × 2 tiles of 258: what is longer than 3,072 pixels is made smaller. Gemini 3 charges 1,120. */
  gemini: 6_192,
  /** 2,833 and 5,667 for each of 8 tiles. Its tokens cost a thirtieth of those of others. */
  gpt4oMini: 48_169,
  /** 30,000 patches of 32 pixels at 1.2 tokens: GPT-5.6 takes pictures of any size as they are; 12,000 for GPT-5.5. */
  other: 36_000,
} as const;

export type PictureFamily = keyof typeof PICTURE_LIMITS;

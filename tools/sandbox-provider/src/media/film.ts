import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Three seconds of moving colour bars, 160x90: H.264 in MP4, the content of every finished video. */
export const film = readFileSync(join(__dirname, 'film.mp4'));

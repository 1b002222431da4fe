import type { Readable } from 'node:stream';

/**
 * Has all bytes that arrive at a socket checked before its reader gets them. Destroys the socket with the error of the
 * first check that returns one.
 */
export function checkArriving(socket: Readable, findProblem: (chunk: Buffer) => Error | null): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null): boolean => {
    const problem = chunk === null ? null : findProblem(chunk);
    if (problem === null) return push(chunk);
    socket.destroy(problem);
    return false;
  };
}

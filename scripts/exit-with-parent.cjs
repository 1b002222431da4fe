// Preloaded into the children of `npm run up`, and only there: when the supervisor dies, even by SIGKILL, the pipe
// that is the child's stdin closes, and the child ends as if it had been asked to.
const LONGEST_SHUTDOWN_MS = 30_000;

process.stdin.on('error', leave);
process.stdin.on('end', leave);
process.stdin.on('close', leave);
process.stdin.resume();
process.stdin.unref();

let leaving = false;

function leave() {
  if (leaving) return;
  leaving = true;
  setTimeout(() => process.exit(1), LONGEST_SHUTDOWN_MS).unref();
  process.kill(process.pid, 'SIGTERM');
}

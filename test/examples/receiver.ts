/** A receiver of signed events, for a test to kill: it prints the ids of those that its library verifies, as lines. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const [port, secret] = process.argv.slice(2);
const webhook = new Webhook(String(secret));
createServer((request, response) => {
  void text(request).then((body) => {
    try {
      const event = webhook.verify(body, request.headers as Record<string, string>);
      const line = `${JSON.stringify({ id: request.headers['webhook-id'], event })}\n`;
      process.stdout.write(line, () => response.writeHead(204).end());
    } catch (error) {
      process.stderr.write(`${String(error)}\n`);
      response.writeHead(400).end();
    }
  });
}).listen(Number(port), '127.0.0.1');

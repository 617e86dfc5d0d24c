"""Tables of a PostgreSQL server, which these tests start on loopback and stop."""
import atexit
import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from case import HUNG, KARMA, Case

PASSWORD = "s3cret@?/%"
QUOTED = "s3cret%40%3F%2F%25"


class Server:
    """One server for all tests. It leaves nothing behind."""

    def __init__(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb")]
        if not found[-1]:
            raise unittest.SkipTest("PostgreSQL's server is not installed")
        self.bin = os.path.dirname(found[-1])
        self.user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        self.dir = tempfile.mkdtemp(prefix="karma-pg-")
        atexit.register(self.stop)
        if self.user:
            shutil.chown(self.dir, "postgres", "postgres")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        word = os.path.join(self.dir, "password")
        with open(word, "w", encoding="utf-8") as file:
            file.write(PASSWORD)
        os.chmod(word, 0o644)
        self.run("initdb", "-D", self.dir + "/data", "-U", "anna", "-A", "scram-sha-256", "--pwfile", word, "-E", "UTF8", "--no-sync", "--locale", "C")
        self.run("pg_ctl", "-D", self.dir + "/data", "-w", "-l", self.dir + "/log", "-o",
                 f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.dir} -c fsync=off", "start")

    def run(self, program, *args, **more):
        done = subprocess.run([os.path.join(self.bin, program), *args], cwd=self.dir, timeout=HUNG, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, **self.user, **more)
        if done.returncode:
            raise AssertionError(f"{program}: {done.stderr.decode()}")

    def psql(self, sql):
        environment = dict(os.environ, PGPASSWORD=PASSWORD)
        done = subprocess.run([os.path.join(self.bin, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", "anna",
                               "postgres"], input=sql.encode(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HUNG)
        if done.returncode:
            raise AssertionError(done.stderr.decode())
        return done.stdout

    def stop(self):
        try:
            subprocess.run([os.path.join(self.bin, "pg_ctl"), "-D", self.dir + "/data", "-m", "immediate", "stop"], cwd="/", timeout=HUNG,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **self.user)
        finally:
            shutil.rmtree(self.dir, True)

    def uri(self, more=""):
        return f"postgres://anna:{QUOTED}@127.0.0.1:{self.port}/postgres{more}"


class Library(Case):
    """libpq is loaded only when a server is needed."""

    def test_without_it_only_servers_fail(self):
        os.mkdir(self.path("lib"))
        self.write("lib/libpq.so.5", "not a library")
        environment = dict(os.environ, LD_LIBRARY_PATH=self.path("lib"))
        self.two_classes(n=40)
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "m.karma", env=environment)
        self.fails("predict", "m.karma", "postgres:hospital?table=t", env=environment,
                   says=r"postgres:hospital.*: cannot load PostgreSQL's library libpq\.so\.5; install it$")


class Postgres(Case):
    server = None

    def setUp(self):
        super().setUp()
        if Postgres.server is None:
            Postgres.server = Server()
        self.db = Postgres.server
        self.db.psql("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE t (id int, x real, z double precision, n numeric, colour text, seen date, ok boolean, "
                     "\"order\" bigint, y text); INSERT INTO t SELECT i, CASE WHEN i % 5 > 0 THEN i / 7.0 END, sin(i) * 10.0 ^ (i % 40 - 20), i / 8.0, "
                     "(ARRAY['red', 'two, words', 'a \"b\"', E'line\\nfeed', ' ü ', NULL])[1 + i % 6], date '2024-01-01' + i, i % 3 = 0, 9007199254740993 + i, "
                     "CASE WHEN i % 7 > 3 THEN 'a' ELSE 'b' END FROM generate_series(1, 150) i; CREATE VIEW v AS SELECT * FROM t")

    def train(self, source, model, *more):
        run = self.run_karma("train", source, "--target", "y", "--id", "id", "--kernel", "rank", "-o", model, *more)
        self.assertEqual(run.code, 0, str(run))
        self.assertNotIn("s3cret", run.err + run.out)
        self.assertNotIn(b"s3cret", self.read(model))
        return run

    def test_the_model_is_that_of_the_export(self):
        self.write("t.csv", self.db.psql("COPY t TO STDOUT (FORMAT csv, HEADER)"))
        self.train("t.csv", "csv.karma")
        for table in ("t", "T", "v", "public.t"):
            self.train(self.db.uri(f"?table={table}"), "db.karma")
            self.assertEqual(self.read("db.karma"), self.read("csv.karma"))
        self.train(self.db.uri(), "db.karma", "--query", "SELECT * FROM t; ")
        self.assertEqual(self.read("db.karma"), self.read("csv.karma"))
        wanted = self.run_karma("predict", "csv.karma", "t.csv", "--quiet").out
        self.assertEqual(self.run_karma("predict", "csv.karma", self.db.uri("?table=t"), "--quiet").out, wanted)
        said = self.run_karma("cv", self.db.uri("?table=t"), "--target", "y", "--id", "id", "--kernel", "linear", "--quiet")
        self.assertEqual(said.code, 0, str(said))
        self.assertNotIn("s3cret", said.out + said.err)

    def test_predictions_are_written(self):
        self.train(self.db.uri("?table=t"), "m.karma")
        wanted = self.run_karma("predict", "m.karma", self.db.uri("?table=t"), "--quiet").rows()
        target = self.db.uri("?table=p")
        said = self.run_karma("predict", "m.karma", self.db.uri("?table=t"), "-o", target, "--quiet", "--json")
        self.assertEqual(said.code, 0, str(said))
        self.assertNotIn("s3cret", said.out + said.err)
        rows = [line.split("|") for line in self.db.psql("SELECT * FROM p ORDER BY id").decode().splitlines()]
        self.assertEqual([[row[0], row[1], float(row[2])] for row in rows], [[row[0], row[1], float(row[2])] for row in wanted[1:]])
        self.assertEqual(self.db.psql("SELECT count(*) FROM t JOIN p USING (id)").strip(), b"150")
        run = self.fails("predict", "m.karma", self.db.uri("?table=t"), "-o", target, "--quiet", says="table 'p' exists already")
        self.assertNotIn("s3cret", run.err)
        self.fails("predict", "m.karma", self.db.uri("?table=t"), "-o", self.db.uri("?table=t"), "--replace", says="would overwrite the input", code=2)
        self.fails("predict", "m.karma", self.db.uri("?table=t"), "-o", self.db.uri("?table=v"), "--replace", "--quiet", says="not a table")
        self.db.psql("DELETE FROM p")
        self.assertEqual(self.run_karma("predict", "m.karma", self.db.uri("?table=v"), "-o", target, "--replace", "--quiet").code, 0)
        self.assertEqual(self.db.psql("SELECT count(*) FROM p").strip(), b"150")
        name = 'q"; DROP TABLE t; --'
        self.assertEqual(self.run_karma("predict", "m.karma", self.db.uri("?table=t"), "-o", self.db.uri("?table=" + name), "--quiet").code, 0)
        self.assertEqual(self.db.psql("SELECT count(*) FROM t").strip(), b"150")

    def refused(self, source, *more, says, code=1):
        run = self.fails("train", source, "--target", "y", "-o", "m.karma", *more, says=says, code=code)
        self.assertNotIn("s3cret", run.err)

    def test_refusals_without_a_password(self):
        uri = self.db.uri
        self.refused(uri("?table=tt"), says="no table 'tt'; the database has 't', 'v'")
        self.refused(uri("?table=t;%20DROP%20TABLE%20t"), says="no table")
        self.refused(uri(), says="which table[?]", code=2)
        self.refused(uri(), "--query", "SELECT * FROM nowhere", says='relation "nowhere" does not exist')
        self.refused(uri(), "--query", "SELECT 1; DROP TABLE t", says="cannot insert multiple commands")
        self.refused(uri(), "--query", "DELETE FROM t RETURNING *", says="read-only transaction|DO INSTEAD|COPY")
        self.refused(uri(), "--query", "DROP TABLE t", says="must be a SELECT", code=2)
        self.refused(uri(), "--query", "SELECT 1) TO PROGRAM 'id' --", says="syntax error")
        self.refused(uri(), "--query", "SELECT $1::int AS y", says="has parameters", code=2)
        self.refused(uri(), "--query", "SELECT y, y FROM t", says="both called 'y'")
        self.refused(uri(), "--query", "SELECT y, 1 / (id - 150) AS x FROM t", says="division by zero")
        self.refused(uri("?table=t&nonsense=s3cret"), says="not a valid URI", code=2)
        self.refused(f"postgres://anna:s3cretwrong@127.0.0.1:{self.db.port}/postgres?table=t", says="password authentication failed")
        self.refused(f"postgres://anna:{PASSWORD}@127.0.0.1:{self.db.port}/postgres?table=t", says="not a valid URI", code=2)
        self.refused("postgres://anna:s3cret@127.0.0.1:1/postgres?table=t", says="onnection refused")
        self.refused("postgres:host=127.0.0.1 password=s3cret?table=t", says="a server is named as", code=2)
        self.assertEqual(self.db.psql("SELECT count(*) FROM t").strip(), b"150")

    def test_pages_show_no_password(self):
        for command, more in (("train", ["-o", "m.karma"]), ("cv", [])):
            run = self.run_karma(command, self.db.uri("?table=t&sslpassword=s3cret"), "--target", "y", "--id", "id", "--kernel", "linear",
                                 f"--report={command}.html", *more)
            self.assertEqual(run.code, 0, str(run))
            self.assertIn(b"postgres://anna@127.0.0.1", self.read(f"{command}.html"))
            self.assertNotIn(b"s3cret", self.read(f"{command}.html"))
        run = self.run_karma("report", "m.karma", self.db.uri("?table=t"), "-oall.html")
        self.assertEqual(run.code, 0, str(run))
        self.assertNotIn(b"s3cret", self.read("all.html"))

    def test_the_table_that_is_read_is_not_replaced(self):
        self.train(self.db.uri("?table=t"), "m.karma")
        for source, target in (("t", "public.t"), ("public.t", "T"), ("v", "public.v")):
            self.fails("predict", "m.karma", self.db.uri("?table=" + source), "-o", self.db.uri("?table=" + target).replace("127.0.0.1", "localhost"), "--replace",
                       says="would overwrite the input", code=2)
        self.assertEqual(self.db.psql("SELECT count(*) FROM t").strip(), b"150")

    def test_an_interrupt_while_the_server_works(self):
        reader = subprocess.Popen([KARMA, "train", self.db.uri(), "--query", "SELECT 1 AS x, pg_sleep(3600)::text AS y", "--target", "y", "-o", "m.karma"],
                                  cwd=self.dir, stderr=subprocess.PIPE)
        busy = "FROM pg_stat_activity WHERE application_name = 'karma' AND state = 'active' AND query LIKE 'COPY%'"
        while self.db.psql("SELECT count(*) " + busy).strip() == b"0" and reader.poll() is None:
            time.sleep(0.05)
        reader.send_signal(signal.SIGINT)
        said = reader.communicate(timeout=HUNG)[1].decode()
        self.assertEqual(reader.returncode, 1, said)
        self.assertRegex(said, "^karma: postgres://anna@[^ ]*: interrupted\n$")
        while self.db.psql("SELECT count(*) " + busy).strip() != b"0":  # the server has stopped too, and not after an hour
            time.sleep(0.05)

    def test_a_server_that_goes_away_while_it_is_written_to(self):
        self.train(self.db.uri("?table=t"), "m.karma")
        self.db.psql("CREATE TABLE big AS SELECT i AS id, i % 9 AS x FROM generate_series(1, 200000) i")
        # the writer waits inside its transaction until it is ended
        self.db.psql("CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3600); END'; "
                     "CREATE EVENT TRIGGER slow ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION slow()")
        writer = subprocess.Popen([KARMA, "predict", "m.karma", self.db.uri("?table=big"), "-o", self.db.uri("?table=p"), "--quiet"], cwd=self.dir, stderr=subprocess.PIPE)
        ending = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'karma' AND wait_event = 'PgSleep'"
        while writer.poll() is None and self.db.psql(ending).strip() == b"0":
            time.sleep(0.05)
        said = writer.communicate(timeout=HUNG)[1].decode()
        self.db.psql("DROP EVENT TRIGGER slow")
        self.assertEqual(writer.returncode, 1, said)
        self.assertRegex(said, "^karma: postgres://anna@127.0.0.1:[^\n]*(terminating connection|server closed the connection)[^\n]*\n$")
        self.assertEqual(self.db.psql("SELECT count(*) FROM pg_class WHERE relname = 'p'").strip(), b"0")

    def test_a_locked_table(self):
        holder = subprocess.Popen([os.path.join(self.db.bin, "psql"), "-X", "-q", "-h", "127.0.0.1", "-p", str(self.db.port), "-U", "anna", "postgres"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ, PGPASSWORD=PASSWORD))
        try:
            holder.stdin.write(b"BEGIN; LOCK TABLE t;\n\\echo locked\n")
            holder.stdin.flush()
            self.assertEqual(holder.stdout.readline(), b"locked\n")
            for timeout in ("0.3", "0"):
                self.refused(self.db.uri(f"?table=t&timeout={timeout}"), says="canceling statement due to lock timeout")
        finally:
            holder.kill()
            holder.wait()
            holder.stdin.close()
            holder.stdout.close()

    def test_one_state_while_a_writer_works_and_a_server_that_goes_away(self):
        self.train(self.db.uri("?table=t"), "m.karma")
        self.db.psql("CREATE TABLE big AS SELECT i AS id, i % 9 AS x, repeat('filler', 20) AS f FROM generate_series(1, 300000) i")
        reader = subprocess.Popen([KARMA, "predict", "m.karma", self.db.uri("?table=big"), "--quiet"], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        first = reader.stdout.readline()
        self.db.psql("UPDATE big SET x = 1000; DELETE FROM big WHERE id > 5")
        rest = reader.communicate(timeout=HUNG)[0].decode().splitlines()
        self.assertEqual((reader.returncode, first), (0, b"id,prediction,score\n"))
        self.assertEqual(len(rest), 300000)
        self.assertEqual([line.split(",")[1:] for line in rest[-9:]], [rest[int(line.split(",")[0]) % 9 + 8].split(",")[1:] for line in rest[-9:]])
        # a session that is ended in the middle
        self.db.psql("DROP TABLE big; CREATE TABLE big AS SELECT i AS id, i % 9 AS x, repeat('filler', 20) AS f FROM generate_series(1, 300000) i")
        reader = subprocess.Popen([KARMA, "predict", "m.karma", self.db.uri("?table=big"), "-o", "out.csv", "--quiet"], cwd=self.dir, stderr=subprocess.PIPE)
        deadline = time.monotonic() + HUNG
        while reader.poll() is None and time.monotonic() < deadline:
            if self.db.psql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'karma' AND query LIKE 'COPY%'").strip() != b"0":
                break
        said = reader.communicate(timeout=HUNG)[1].decode()
        self.assertEqual(reader.returncode, 1, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertRegex(said, "^karma: postgres://anna@127.0.0.1:.*(terminating connection|server closed the connection)")
        self.assertNotIn("s3cret", said)
        self.assertFalse(os.path.exists(self.path("out.csv")))

"""SQLAlchemy and SQLite in memory: 20 rows a second are written and read, and those older than 500 rows are deleted.

  orm.py keep   LEAK: `load` keeps every object that it reads, with its text of 3,000 bytes: some 60 KB/s and more.
  orm.py drop   no leak: a session per transaction.
"""
import sys

from sqlalchemy import Integer, Text, create_engine, delete, select
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column

import pace


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "notes"
    id = mapped_column(Integer, primary_key=True)
    text = mapped_column(Text)


engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
loaded = []


def store(n):
    with Session(engine) as session:
        session.add(Note(id=n, text=("note %d " % n) * 400))
        session.execute(delete(Note).where(Note.id <= n - 500))
        session.commit()


def load(n):
    with Session(engine, expire_on_commit=False) as session:
        note = session.scalars(select(Note).where(Note.id == n)).one()
        session.expunge(note)
        if sys.argv[1] == "keep":
            loaded.append(note)


for tick in pace.ticks(20):
    store(tick)
    load(tick)
